/** Duration of uploaded audio, if the engine does not report it: what decoders would play, else estimated from its size (decision 0248). */
import { open } from 'node:fs/promises';
import { sniffMediaType } from '../egress/media-type.ts';
import { AudioFile, guessSeconds, MIN_BYTES_PER_SECOND } from './audio-file.ts';
import { measureFLAC } from './flac-length.ts';
import { measureFrames } from './frame-length.ts';
import { measureMP4 } from './mp4-length.ts';
import { measureOgg } from './ogg-length.ts';
import { measureWebM } from './webm-length.ts';

export interface Sound {
  /** Detected from its first bytes. */
  contentType: string;
  /** Estimate of its length. */
  seconds: number;
}

const START_BYTES = 64 * 1024;
/** A header can claim centuries. */
const MAX_SECONDS = 24 * 60 * 60;

/** Null if it is not audio. Reads the whole file in pieces, so that nothing at its start can misrepresent the rest. */
export async function measureSound(path: string, bytes: number): Promise<Sound | null> {
  const handle = await open(path);
  try {
    const file = new AudioFile(handle, bytes);
    const start = Buffer.from(await file.read(0, START_BYTES));
    const contentType = sniffMediaType(start, 'audio');
    if (!contentType) return null;
    const seconds = (await measure(file, contentType, start)) ?? guessSeconds(bytes);
    return { contentType, seconds: Math.min(MAX_SECONDS, seconds) };
  } finally {
    await handle.close();
  }
}

/** Null if only the file's size is known. */
async function measure(file: AudioFile, contentType: string, start: Buffer): Promise<number | null> {
  switch (contentType) {
    case 'audio/wav': {
      const rate = readWAV(start);
      // A header that claims fewer bytes per second is not trusted.
      return rate && file.bytes / Math.max(MIN_BYTES_PER_SECOND, rate);
    }
    case 'audio/flac':
      return measureFLAC(file);
    case 'audio/mp4':
      return measureMP4(file);
    case 'audio/ogg':
      return measureOgg(file);
    case 'audio/webm':
      return measureWebM(file);
    default:
      return measureFrames(file);
  }
}

const CHUNK_HEADER_BYTES = 8;
const FORMAT_BYTES = 16;
/** PCM, floating point, and their extensible variants. */
const PLAIN_SAMPLES: ReadonlySet<number> = new Set([1, 3, 0xfffe]);

/** From the fields that decoders use, which does not include the declared bytes per second. */
function readWAV(start: Buffer): number | null {
  const format = findFormat(start);
  if (!format) return null;
  const channels = format.readUInt16LE(2);
  const samplesPerSecond = format.readUInt32LE(4);
  if (PLAIN_SAMPLES.has(format.readUInt16LE(0))) {
    const sampleBytes = Math.ceil(format.readUInt16LE(14) / 8);
    // Decoders use one field or the other: a genuine file has the same in both.
    return samplesPerSecond * Math.min(format.readUInt16LE(12), channels * sampleBytes) || null;
  }
  // Other codecs compress to at most a byte per sample.
  return Math.min(format.readUInt32LE(8), samplesPerSecond * channels) || null;
}

/** Walks the chunks: the name of one may also occur in the content of another. */
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
