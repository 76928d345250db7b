/** How long an uploaded sound is, where the engine does not tell: by its header, else by its size. */
import { open } from 'node:fs/promises';
import { sniffMediaType } from '../egress/media-type.ts';

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

/** Null for what is no audio. Reads the start of the file alone. */
export async function measureSound(path: string, bytes: number): Promise<Sound | null> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(START_BYTES), 0, START_BYTES, 0);
    const start = buffer.subarray(0, bytesRead);
    const contentType = sniffMediaType(start, 'audio');
    if (!contentType) return null;
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
    case 'audio/mpeg':
      return readMP3(start);
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
  return samples > 0 && samplesPerSecond > 0 ? (bytes * samplesPerSecond) / samples : null;
}

const MPEG1_KBITS = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
const MPEG2_KBITS = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
const ID3_HEADER_BYTES = 10;

/** By the bit rate of the first frame behind the tags. */
function readMP3(start: Buffer): number | null {
  let at = 0;
  if (start.toString('latin1', 0, 3) === 'ID3' && start.length > ID3_HEADER_BYTES) {
    const [a, b, c, d] = start.subarray(6, ID3_HEADER_BYTES);
    at = ID3_HEADER_BYTES + (((a! & 0x7f) << 21) | ((b! & 0x7f) << 14) | ((c! & 0x7f) << 7) | (d! & 0x7f));
  }
  for (; at + 3 < start.length; at++) {
    if (start[at] !== 0xff || (start[at + 1]! & 0xe6) !== 0xe2) continue;
    const isFirstVersion = (start[at + 1]! & 0x18) === 0x18;
    const kbits = (isFirstVersion ? MPEG1_KBITS : MPEG2_KBITS)[start[at + 2]! >> 4];
    if (kbits) return (kbits * 1000) / 8;
  }
  return null;
}
