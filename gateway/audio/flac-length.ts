/** Duration of FLAC, from the headers of all frames: decoders need not trust the first block's total. */
import type { AudioFile } from './audio-file.ts';

const BLOCK_HEADER_BYTES = 4;
const MAX_HEADER_BYTES = 16;
/** Offset of the sample rate in the first block, after the file's signature. */
const RATE_AT = 18;
const SAMPLE_RATES = [
  ...[0, 88_200, 176_400, 192_000, 8_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000],
];

/** Null if it has no frames. */
export async function measureFLAC(file: AudioFile): Promise<number | null> {
  const start = await file.read(0, RATE_AT + 3);
  const usual = start.length < RATE_AT + 3 ? 0 : start.readUIntBE(RATE_AT, 3) >> 4;
  let at = await findEndOfBlocks(file);
  let seconds = 0;
  while (at < file.bytes) {
    const piece = await file.read(at, Number.MAX_SAFE_INTEGER);
    if (piece.length === 0) break;
    const isLast = at + piece.length >= file.bytes;
    // A header is never split.
    const end = isLast ? piece.length : piece.length - MAX_HEADER_BYTES;
    seconds += sumFrames(piece, end, usual);
    at += end;
  }
  return seconds === 0 ? null : seconds;
}

/** Offset of the first frame; the end of a file whose blocks do not end. */
async function findEndOfBlocks(file: AudioFile): Promise<number> {
  for (let at = 4; ; ) {
    const header = file.peek(at, BLOCK_HEADER_BYTES) ?? (await file.read(at, BLOCK_HEADER_BYTES));
    if (header.length < BLOCK_HEADER_BYTES) return file.bytes;
    at += BLOCK_HEADER_BYTES + header.readUIntBE(1, 3);
    if (header[0]! >= 0x80) return at;
  }
}

function sumFrames(piece: Buffer, end: number, usual: number): number {
  let seconds = 0;
  for (let at = piece.indexOf(0xff); at >= 0 && at < end; at = piece.indexOf(0xff, at + 1))
    if ((piece[at + 1]! & 0xfe) === 0xf8)
      seconds += measureFLACFrame(piece.subarray(at, at + MAX_HEADER_BYTES), usual);
  return seconds;
}

/** 0 if it is not a frame. `usual`: the stream's sample rate, which a frame need not repeat. */
export function measureFLACFrame(start: Buffer, usual = 0): number {
  if (start.length < 6 || start[0] !== 0xff || (start[1]! & 0xfe) !== 0xf8) return 0;
  const sizeCode = start[2]! >> 4;
  const rateCode = start[2]! & 15;
  if (sizeCode === 0 || rateCode === 15 || (start[3]! & 1) !== 0 || start[3]! >> 4 > 10) return 0;
  // Its number, coded as in UTF-8: as many bytes as its first one has leading ones.
  const ones = Math.clz32(~start[4]! << 24);
  if (ones === 1 || ones === 8) return 0;
  let end = 4 + Math.max(1, ones);
  let samples = sizeCode < 8 ? 576 << (sizeCode - 2) : 256 << (sizeCode - 8);
  if (sizeCode === 1) samples = 192;
  const sizeBytes = sizeCode === 6 ? 1 : sizeCode === 7 ? 2 : 0;
  const rateBytes = rateCode < 12 ? 0 : rateCode === 12 ? 1 : 2;
  if (end + sizeBytes + rateBytes >= start.length) return 0;
  if (sizeBytes > 0) samples = start.readUIntBE(end, sizeBytes) + 1;
  end += sizeBytes;
  let rate = SAMPLE_RATES[rateCode] ?? start.readUIntBE(end, rateBytes);
  if (rateCode === 12) rate *= 1_000;
  if (rateCode === 14) rate *= 10;
  end += rateBytes;
  // Decoders differ in which of the two they use.
  const slower = Math.min(rate || usual, usual || rate);
  return slower > 0 && checksum(start, end) === start[end] ? samples / slower : 0;
}

/** CRC-8 with the polynomial 7. */
function checksum(bytes: Buffer, end: number): number {
  let sum = 0;
  for (let at = 0; at < end; at++) {
    sum ^= bytes[at]!;
    for (let bit = 0; bit < 8; bit++) sum = (sum << 1) ^ (sum >= 0x80 ? 0x107 : 0);
  }
  return sum;
}
