/** Type and dimensions of an image by its first bytes; pixels are never decoded, so hostile ones cost nothing. */

export interface ImageFacts {
  contentType: 'image/png' | 'image/jpeg' | 'image/webp';
  width: number;
  height: number;
}

/** Bytes from a position on; fewer at the end of the file. */
export type ReadAt = (position: number, length: number) => Promise<Buffer>;

const HEADER_BYTES = 30;

export async function findImageFacts(readAt: ReadAt): Promise<ImageFacts | null> {
  const head = await readAt(0, HEADER_BYTES);
  const start = head.toString('latin1');
  const facts = start.startsWith('\xff\xd8\xff')
    ? await walkJPEG(readAt)
    : start.startsWith('\x89PNG\r\n\x1a\n')
      ? readPNG(head)
      : start.startsWith('RIFF') && start.startsWith('WEBP', 8)
        ? readWebP(head)
        : null;
  return facts && facts.width > 0 && facts.height > 0 ? facts : null;
}

function readPNG(head: Buffer): ImageFacts | null {
  if (head.length < 26 || head.toString('latin1', 12, 16) !== 'IHDR') return null;
  return { contentType: 'image/png', width: head.readUInt32BE(16), height: head.readUInt32BE(20) };
}

/** The first chunk says which it is: VP8 (lossy), VP8L (lossless) or VP8X (extended: alpha, animation, metadata). */
function readWebP(head: Buffer): ImageFacts | null {
  if (head.length < HEADER_BYTES) return null;
  const contentType = 'image/webp';
  switch (head.toString('latin1', 12, 16)) {
    case 'VP8 ': {
      const isKeyFrame = (head[20]! & 1) === 0 && head.readUIntBE(23, 3) === 0x9d012a;
      if (!isKeyFrame) return null;
      return { contentType, width: head.readUInt16LE(26) & 0x3fff, height: head.readUInt16LE(28) & 0x3fff };
    }
    case 'VP8L': {
      if (head[20] !== 0x2f) return null;
      const bits = head.readUInt32LE(21);
      return { contentType, width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case 'VP8X':
      return { contentType, width: head.readUIntLE(24, 3) + 1, height: head.readUIntLE(27, 3) + 1 };
    default:
      return null;
  }
}

/** EXIF, ICC profiles and previews come first, in segments of at most 64 KiB; a real image has a few dozen. */
const MAX_SEGMENTS = 1_000;
const SEGMENT_HEAD_BYTES = 9;
const START_OF_SCAN = 0xda;
const END_OF_IMAGE = 0xd9;

async function walkJPEG(readAt: ReadAt): Promise<ImageFacts | null> {
  let position = 2;
  for (let segment = 0; segment < MAX_SEGMENTS; segment++) {
    const head = await readAt(position, SEGMENT_HEAD_BYTES);
    if (head.length < 4 || head[0] !== 0xff) return null;
    const marker = head[1]!;
    // Bytes of 0xff may pad the space before a marker.
    if (marker === 0xff) {
      position += 1;
      continue;
    }
    if (isFrame(marker)) {
      if (head.length < SEGMENT_HEAD_BYTES) return null;
      return { contentType: 'image/jpeg', height: head.readUInt16BE(5), width: head.readUInt16BE(7) };
    }
    const length = head.readUInt16BE(2);
    if (marker === START_OF_SCAN || marker === END_OF_IMAGE || length < 2) return null;
    position += 2 + length;
  }
  return null;
}

/** SOF0 to SOF15, baseline and progressive; DHT, JPG and DAC lie among them. */
const isFrame = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
