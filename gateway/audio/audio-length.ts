/** How long an uploaded sound is, where the engine does not tell: by its headers, else by its size. */
import { open } from 'node:fs/promises';
import { sniffMediaType } from '../egress/media-type.ts';
import { measureMP3 } from './mp3-length.ts';

export interface Sound {
  /** By its first bytes. */
  contentType: string;
  /** Estimate of its length. */
  seconds: number;
}

const START_BYTES = 64 * 1024;
/** 64 kbit/s: of speech that is compressed. */
const TYPICAL_BYTES_PER_SECOND = 8_000;
const MIN_BYTES_PER_SECOND = 500;

/** Null for what is no audio. Reads the start of the file alone, but for MP3, which has a header for each of its frames. */
export async function measureSound(path: string, bytes: number): Promise<Sound | null> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(START_BYTES), 0, START_BYTES, 0);
    const start = buffer.subarray(0, bytesRead);
    const contentType = sniffMediaType(start, 'audio');
    if (!contentType) return null;
    if (contentType === 'audio/mpeg') {
      const { seconds, otherBytes } = await measureMP3(file, bytes);
      return { contentType, seconds: seconds + otherBytes / TYPICAL_BYTES_PER_SECOND };
    }
    // What a header says cheaper than this is not believed.
    const rate = Math.max(
      MIN_BYTES_PER_SECOND,
      readRate(start, contentType, bytes) ?? TYPICAL_BYTES_PER_SECOND,
    );
    return { contentType, seconds: bytes / rate };
  } finally {
    await file.close();
  }
}

/** Bytes of a second; null where the start does not say. */
function readRate(start: Buffer, contentType: string, bytes: number): number | null {
  switch (contentType) {
    case 'audio/wav':
      return readWAV(start);
    case 'audio/flac':
      return readFLAC(start, bytes);
    default:
      return null;
  }
}

const CHUNK_HEADER_BYTES = 8;
const FORMAT_BYTES = 16;
/** PCM, floating point, and either of them with more details. */
const PLAIN_SAMPLES: ReadonlySet<number> = new Set([1, 3, 0xfffe]);

/** By the fields that decoders go by, which the bytes of a second that it tells as well are not. */
function readWAV(start: Buffer): number | null {
  const format = findFormat(start);
  if (!format) return null;
  const channels = format.readUInt16LE(2);
  const samplesPerSecond = format.readUInt32LE(4);
  if (PLAIN_SAMPLES.has(format.readUInt16LE(0))) {
    const sampleBytes = Math.ceil(format.readUInt16LE(14) / 8);
    // One field or the other, as decoders have it: a file that is not forged has the same in both.
    return samplesPerSecond * Math.min(format.readUInt16LE(12), channels * sampleBytes) || null;
  }
  // Other codecs compress: to a byte for each sample at most.
  return Math.min(format.readUInt32LE(8), samplesPerSecond * channels) || null;
}

/** The chunks one after the other: the name of one may also be in the content of another. */
function findFormat(start: Buffer): Buffer | null {
  for (let at = 12; at + CHUNK_HEADER_BYTES + FORMAT_BYTES <= start.length; ) {
    const content = at + CHUNK_HEADER_BYTES;
    if (start.toString('latin1', at, at + 4) === 'fmt ')
      return start.subarray(content, content + FORMAT_BYTES);
    const bytes = start.readUInt32LE(at + 4);
    at = content + bytes + (bytes % 2);
  }
  return null;
}

/** Its first block has the samples of a second and of the whole. */
function readFLAC(start: Buffer, bytes: number): number | null {
  if (start.length < 26) return null;
  const samplesPerSecond = start.readUIntBE(18, 3) >> 4;
  const samples = (start[21]! & 0x0f) * 2 ** 32 + start.readUInt32BE(22);
  if (samples === 0 || samplesPerSecond === 0) return null;
  // Compressed it is smaller than its samples: fewer of them than there is room for are not believed.
  const channels = ((start[20]! >> 1) & 7) + 1;
  const sampleBits = (((start[20]! & 1) << 4) | (start[21]! >> 4)) + 1;
  return Math.min((bytes * samplesPerSecond) / samples, (samplesPerSecond * channels * sampleBits) / 8);
}
