/** Whether an image file is complete by its format: a truncated one would only fail at the engine. */
import type { ImageFacts, ReadAt } from './image-facts.ts';

/** `bytes`: of the whole file. Takes one read for a file that ends with its image, as nearly all do. */
export function isWholeImage(
  readAt: ReadAt,
  { contentType, bytes }: { contentType: ImageFacts['contentType']; bytes: number },
): Promise<boolean> {
  if (contentType === 'image/png') return endsPNG(readAt, bytes);
  return contentType === 'image/jpeg' ? endsJPEG(readAt, bytes) : endsWebP(readAt, bytes);
}

const CHUNK_HEAD_BYTES = 8;
const CHUNK_BYTES = 12;
const SIGNATURE_BYTES = 8;
const END_CHUNK = Buffer.from('0000000049454e44ae426082', 'hex');
/** Encoders write chunks of 8 KiB or more. */
const MAX_CHUNKS = 20_000;
/** Chunks may be small, and a read of this size costs no more than a small one. */
const WINDOW_BYTES = 4096;

/** Cameras and editors append their own data after the end. */
async function endsPNG(readAt: ReadAt, bytes: number): Promise<boolean> {
  if ((await readAt(bytes - CHUNK_BYTES, CHUNK_BYTES)).equals(END_CHUNK)) return true;
  let position = SIGNATURE_BYTES;
  let window: { start: number; end: number; bytes: Buffer } = { start: 0, end: 0, bytes: Buffer.alloc(0) };
  for (let chunk = 0; chunk < MAX_CHUNKS && position + CHUNK_BYTES <= bytes; chunk++) {
    if (position + CHUNK_HEAD_BYTES > window.end) {
      const read = await readAt(position, WINDOW_BYTES);
      if (read.length < CHUNK_HEAD_BYTES) return false;
      window = { start: position, end: position + read.length, bytes: read };
    }
    const head = window.bytes.subarray(position - window.start);
    if (head.toString('latin1', 4, CHUNK_HEAD_BYTES) === 'IEND') return true;
    position += CHUNK_BYTES + head.readUInt32BE(0);
  }
  return false;
}

const SCAN_BYTES = 256 * 1024;
const END_OF_IMAGE = Buffer.from('ffd9', 'hex');
const START_OF_SCAN = 0xda;
const MAX_SEGMENTS = 1_000;

async function endsJPEG(readAt: ReadAt, bytes: number): Promise<boolean> {
  if ((await readAt(bytes - 2, 2)).equals(END_OF_IMAGE)) return true;
  const start = await findScan(readAt);
  if (start === null) return false;
  // Within a scan the two bytes are unambiguous; previews, which have them too, precede it.
  for (let position = start; position < bytes; position += SCAN_BYTES)
    if ((await readAt(position, SCAN_BYTES + 1)).includes(END_OF_IMAGE)) return true;
  return false;
}

async function findScan(readAt: ReadAt): Promise<number | null> {
  let position = 2;
  for (let segment = 0; segment < MAX_SEGMENTS; segment++) {
    const head = await readAt(position, 4);
    if (head.length < 4 || head[0] !== 0xff) return null;
    if (head[1] === 0xff) position += 1;
    else if (head[1] === START_OF_SCAN) return position;
    else position += 2 + head.readUInt16BE(2);
  }
  return null;
}

const RIFF_HEAD_BYTES = 8;

async function endsWebP(readAt: ReadAt, bytes: number): Promise<boolean> {
  const head = await readAt(0, RIFF_HEAD_BYTES);
  return head.length === RIFF_HEAD_BYTES && head.readUInt32LE(4) + RIFF_HEAD_BYTES <= bytes;
}
