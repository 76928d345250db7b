/** Duration of MP3 or raw AAC, from the headers of all frames: each may have its own bit rate. */
import { type AudioFile, guessSeconds } from './audio-file.ts';

const KBITS = {
  first: [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  second: [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
};
/** By the version's two bits; 1 is reserved. */
const SAMPLE_RATES: Readonly<Record<number, readonly number[]>> = {
  0: [11_025, 12_000, 8_000],
  2: [22_050, 24_000, 16_000],
  3: [44_100, 48_000, 32_000],
};
/** By the index in AAC headers and configurations. */
export const AAC_SAMPLE_RATES = [
  ...[96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350],
];
/** Samples in a block. */
export const AAC_SAMPLES = 1_024;
const HEADER_BYTES = 7;
const MAX_FRAME_BYTES = 8_191;
const ID3_HEADER_BYTES = 10;
const CHUNK_BYTES = 256 * 1024;

interface Frame {
  /** Common to all frames of a stream. */
  kind: number;
  bytes: number;
  seconds: number;
}

interface Walk {
  /** Length of all frames. */
  seconds: number;
  /** Bytes outside frames and tags. */
  otherBytes: number;
  /** Kind of the frame that ended right here; undefined if none did. */
  kind: number | undefined;
}

/** Reads the whole file in pieces, so that nothing at its start can misrepresent the rest. */
export async function measureFrames(file: AudioFile): Promise<number> {
  const walk: Walk = { seconds: 0, otherBytes: 0, kind: undefined };
  let at = findEndOfTag(await file.read(0, ID3_HEADER_BYTES));
  // Players that ignore such a tag would find frames in it.
  if (at >= file.bytes) at = 0;
  while (at < file.bytes) {
    const piece = await file.read(at, CHUNK_BYTES);
    if (piece.length === 0) break;
    at += walkFrames(piece, at + piece.length >= file.bytes, walk);
  }
  return walk.seconds + guessSeconds(walk.otherBytes);
}

function findEndOfTag(buffer: Buffer): number {
  if (buffer.length < ID3_HEADER_BYTES || buffer.toString('latin1', 0, 3) !== 'ID3') return 0;
  const [major, revision, , a, b, c, d] = buffer.subarray(3, ID3_HEADER_BYTES);
  // Decoders play the bytes after a false header.
  if (major === 0xff || revision === 0xff || [a, b, c, d].some((byte) => byte! >= 0x80)) return 0;
  return ID3_HEADER_BYTES + ((a! << 21) | (b! << 14) | (c! << 7) | d!);
}

/** Adds the piece's frames to the walk; returns how many bytes were consumed. */
function walkFrames(piece: Buffer, isLast: boolean, walk: Walk): number {
  // A frame and the following header are in one piece.
  const end = isLast ? piece.length : piece.length - MAX_FRAME_BYTES - HEADER_BYTES;
  let at = 0;
  while (at < end) {
    const frame = readFrame(piece, at);
    if (frame && (frame.kind === walk.kind || isFollowed(piece, at + frame.bytes, frame.kind))) {
      walk.kind = frame.kind;
      walk.seconds += frame.seconds;
      at += frame.bytes;
    } else {
      walk.kind = undefined;
      walk.otherBytes++;
      at++;
    }
  }
  return at;
}

/** Other bytes may look like a header; players require another one after its frame, too. */
const isFollowed = (piece: Buffer, at: number, kind: number): boolean =>
  at === piece.length || readFrame(piece, at)?.kind === kind;

/** Null if it is neither an MPEG layer III nor an AAC header. */
function readFrame(piece: Buffer, at: number): Frame | null {
  if (at + 4 > piece.length || piece[at] !== 0xff) return null;
  const second = piece[at + 1]!;
  if ((second & 0xe6) === 0xe2) return readLayerIII(second, piece[at + 2]!);
  return (second & 0xf6) === 0xf0 && at + HEADER_BYTES <= piece.length ? readAAC(piece, at) : null;
}

function readAAC(piece: Buffer, at: number): Frame | null {
  const third = piece[at + 2]!;
  const samplesPerSecond = AAC_SAMPLE_RATES[(third >> 2) & 15];
  const bytes = ((piece[at + 3]! & 3) << 11) | (piece[at + 4]! << 3) | (piece[at + 5]! >> 5);
  if (!samplesPerSecond || bytes < HEADER_BYTES) return null;
  const blocks = (piece[at + 6]! & 3) + 1;
  return {
    kind: (piece[at + 1]! << 8) | (third & 0xfd),
    bytes,
    seconds: (blocks * AAC_SAMPLES) / samplesPerSecond,
  };
}

function readLayerIII(second: number, third: number): Frame | null {
  const version = (second >> 3) & 3;
  const isFirst = version === 3;
  const samplesPerSecond = SAMPLE_RATES[version]?.[(third >> 2) & 3];
  const kbits = KBITS[isFirst ? 'first' : 'second'][third >> 4];
  if (!samplesPerSecond || !kbits) return null;
  const samples = isFirst ? 1_152 : 576;
  const padding = (third >> 1) & 1;
  return {
    kind: (second << 2) | ((third >> 2) & 3),
    bytes: Math.floor((samples * kbits * 125) / samplesPerSecond) + padding,
    seconds: samples / samplesPerSecond,
  };
}
