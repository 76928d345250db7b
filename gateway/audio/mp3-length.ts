/** How long an MP3 plays. By the headers of all of its frames: each may have a bit rate of its own. */
import type { FileHandle } from 'node:fs/promises';

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
const HEADER_BYTES = 4;
const MAX_FRAME_BYTES = 1_441;
const ID3_HEADER_BYTES = 10;
const CHUNK_BYTES = 256 * 1024;

interface Frame {
  /** What the frames of one stream have in common. */
  kind: number;
  bytes: number;
  seconds: number;
}

export interface MP3Length {
  /** Of all frames. */
  seconds: number;
  /** That are in no frame and no tag. */
  otherBytes: number;
}

interface Walk extends MP3Length {
  /** Of the frame that ended right here; undefined: none did. */
  kind: number | undefined;
}

/** Reads the whole file in pieces, so that nothing at its start can speak for the rest. */
export async function measureMP3(file: FileHandle, bytes: number): Promise<MP3Length> {
  const buffer = Buffer.alloc(CHUNK_BYTES);
  const walk: Walk = { seconds: 0, otherBytes: 0, kind: undefined };
  let at = await findEndOfTag(file, buffer);
  // Players that do not believe such a tag would find frames in it.
  if (at >= bytes) at = 0;
  while (at < bytes) {
    const { bytesRead } = await file.read(buffer, 0, CHUNK_BYTES, at);
    if (bytesRead === 0) break;
    at += walkFrames(buffer.subarray(0, bytesRead), at + bytesRead >= bytes, walk);
  }
  return { seconds: walk.seconds, otherBytes: walk.otherBytes };
}

async function findEndOfTag(file: FileHandle, buffer: Buffer): Promise<number> {
  const { bytesRead } = await file.read(buffer, 0, ID3_HEADER_BYTES, 0);
  if (bytesRead < ID3_HEADER_BYTES || buffer.toString('latin1', 0, 3) !== 'ID3') return 0;
  const [major, revision, , a, b, c, d] = buffer.subarray(3, ID3_HEADER_BYTES);
  // Decoders play the bytes behind a header that is none.
  if (major === 0xff || revision === 0xff || [a, b, c, d].some((byte) => byte! >= 0x80)) return 0;
  return ID3_HEADER_BYTES + ((a! << 21) | (b! << 14) | (c! << 7) | d!);
}

/** Adds what the piece holds to the walk; answers how much of it is done with. */
function walkFrames(piece: Buffer, isLast: boolean, walk: Walk): number {
  // A frame and the header behind it are in one piece.
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

/** Among other bytes may be what looks like a header; players want another one behind its frame, too. */
const isFollowed = (piece: Buffer, at: number, kind: number): boolean =>
  at === piece.length || readFrame(piece, at)?.kind === kind;

/** Null for what is no header of layer III. */
function readFrame(piece: Buffer, at: number): Frame | null {
  if (at + HEADER_BYTES > piece.length || piece[at] !== 0xff) return null;
  const second = piece[at + 1]!;
  const third = piece[at + 2]!;
  if ((second & 0xe6) !== 0xe2) return null;
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
