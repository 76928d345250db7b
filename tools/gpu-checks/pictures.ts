/** Pictures that are sent, and how far others differ from them. */
import sharp from 'sharp';

export const { SIZE = 'auto' } = process.env;
const DEFAULT_SIDE = 1_024;
/** Size of the coarse pictures that are compared: grain and compression are no difference. */
const CELLS = 32;
/** Cells on both sides of an edge belong to neither. */
const EDGE = 2;

function readSides(): { width: number; height: number } {
  const [width, height] = /^(\d+)x(\d+)$/.exec(SIZE)?.slice(1).map(Number) ?? [];
  return { width: width ?? DEFAULT_SIDE, height: height ?? DEFAULT_SIDE };
}

type Color = [red: number, green: number, blue: number, opacity: number];

/** A PNG of SIZE; `paint` gets the place, with 0 and 1 at the edges. */
async function paint(colorOf: (x: number, y: number) => Color): Promise<Buffer> {
  const { width, height } = readSides();
  const pixels = Buffer.alloc(width * height * 4);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++)
      pixels.set(colorOf((x + 0.5) / width, (y + 0.5) / height), (y * width + x) * 4);
  return sharp(pixels, { raw: { width, height, channels: 4 } })
    .png()
    .toBuffer();
}

const toFile = (bytes: Buffer, name: string): File =>
  new File([new Uint8Array(bytes)], name, { type: 'image/png' });

/** The middle, a quarter of the whole. */
const isMiddle = (x: number, y: number): boolean => Math.abs(x - 0.5) < 0.25 && Math.abs(y - 0.5) < 0.25;

/** The sun above the sea. */
export async function makePicture(): Promise<File> {
  const bytes = await paint((x, y) => {
    if (Math.hypot(x - 0.75, y - 0.2) < 0.1) return [255, 220, 120, 255];
    return y < 0.5 ? [90 + 120 * y, 140 + 80 * y, 220, 255] : [20, 60 + 60 * y, 90 + 100 * y, 255];
  });
  return toFile(bytes, 'picture.png');
}

/** White and transparent in the middle, where engines go by either. */
export const makeMask = async (): Promise<File> =>
  toFile(await paint((x, y) => (isMiddle(x, y) ? [255, 255, 255, 0] : [0, 0, 0, 255])), 'mask.png');

const readCells = (bytes: Buffer): Promise<Buffer> =>
  sharp(bytes).removeAlpha().toColorspace('srgb').resize(CELLS, CELLS, { fit: 'fill' }).raw().toBuffer();

export interface Difference {
  /** Difference from 0 to 255, on average. */
  inside: number;
  outside: number;
}

/** By whether it is where the mask shows. */
export async function compareByMask(one: Buffer, other: Buffer): Promise<Difference> {
  const [ones, others] = await Promise.all([readCells(one), readCells(other)]);
  const sums = { inside: 0, outside: 0 };
  const counts = { inside: 0, outside: 0 };
  for (let at = 0; at < ones.length; at++) {
    const x = Math.floor(at / 3) % CELLS;
    const y = Math.floor(at / 3 / CELLS);
    const corners = [-EDGE, EDGE].flatMap((dx) => [-EDGE, EDGE].map((dy) => [x + dx, y + dy]));
    const masked = corners.filter(([cx, cy]) => isMiddle((cx! + 0.5) / CELLS, (cy! + 0.5) / CELLS)).length;
    if (masked !== 0 && masked !== corners.length) continue;
    const part = masked === 0 ? 'outside' : 'inside';
    sums[part] += Math.abs(ones[at]! - others[at]!);
    counts[part]++;
  }
  return { inside: sums.inside / counts.inside, outside: sums.outside / counts.outside };
}
