/** Draws pictures: a pattern of colors, or pictures that were sent with the pattern laid over them. */
import type { CreateRaw, OverlayOptions, Sharp, SharpConstructor } from 'sharp';
import { refuse } from './errors.ts';
import type { UploadedFile } from './form-body.ts';
import type { Random } from './random.ts';

export interface Size {
  width: number;
  height: number;
}

const CELLS = 8;
const OPACITY = 0.4;
const MAX_INPUT_PIXELS = 2 ** 26;
/** Limits for decoding a sent picture. */
const LOADERS = ['VipsForeignLoadPng', 'VipsForeignLoadJpeg', 'VipsForeignLoadWebp'];

let loading: Promise<SharpConstructor> | undefined;

/** Loaded when the first picture is asked for: engines of text start without it. */
function loadSharp(): Promise<SharpConstructor> {
  loading ??= import('sharp').then(({ default: sharp }) => {
    sharp.cache(false);
    sharp.concurrency(1);
    sharp.block({ operation: ['VipsForeignLoad'] });
    sharp.unblock({ operation: LOADERS });
    return sharp;
  });
  return loading;
}

/** Size of a picture that was sent; throws an EngineError when it is none that we read. */
export async function measurePicture(file: UploadedFile): Promise<Size> {
  const sharp = await loadSharp();
  const unreadable = refuse(`Invalid image in ${file.name}: it must be a PNG, JPEG or WebP file.`, file.name);
  if (file.bytes.length === 0) throw unreadable;
  const { width, height } = await sharp(file.bytes)
    .metadata()
    .catch(() => {
      throw unreadable;
    });
  if (width * height > MAX_INPUT_PIXELS)
    throw refuse(`The image in ${file.name} has more than ${MAX_INPUT_PIXELS} pixels.`, file.name);
  return { width, height };
}

/** A PNG of colors that flow into each other, and that depend on the chance alone. */
export async function drawPattern(size: Size, random: Random): Promise<Buffer> {
  return (await paintPattern(size, random)).png({ compressionLevel: 1 }).toBuffer();
}

async function paintPattern({ width, height }: Size, random: Random): Promise<Sharp> {
  const sharp = await loadSharp();
  const colors = Buffer.from(Array.from({ length: CELLS * CELLS * 3 }, () => Math.floor(random() * 256)));
  return sharp(colors, { raw: { width: CELLS, height: CELLS, channels: 3 } }).resize(width, height, {
    fit: 'fill',
    kernel: 'cubic',
  });
}

export interface Painting {
  /** Side by side, each measured before. */
  inputs: UploadedFile[];
  /** Where the pattern goes: the transparent parts, or without transparency the white ones. */
  mask: UploadedFile | undefined;
  /** Null: no pattern. */
  random: Random | null;
}

/** A PNG of the pictures that were sent; throws an EngineError when one of them cannot be read to its end. */
export async function drawOver(size: Size, { inputs, mask, random }: Painting): Promise<Buffer> {
  const sharp = await loadSharp();
  const layers = await Promise.all(
    inputs.map((input, index) => fitColumn(input, size, [index, inputs.length])),
  );
  if (random) layers.push(await makeOverlay(size, mask, random));
  return sharp({ create: { ...size, channels: 3, background: 'black' } })
    .composite(layers)
    .removeAlpha()
    .png({ compressionLevel: 1 })
    .toBuffer();
}

async function fitColumn(
  input: UploadedFile,
  { width, height }: Size,
  [index, count]: [number, number],
): Promise<OverlayOptions> {
  const sharp = await loadSharp();
  const left = Math.floor((index * width) / count);
  const right = Math.floor(((index + 1) * width) / count);
  const column = sharp(input.bytes)
    .resize(right - left, height, { fit: 'fill' })
    .removeAlpha();
  return { ...(await readRaw(column, input.name)), left, top: 0 };
}

async function makeOverlay(
  size: Size,
  mask: UploadedFile | undefined,
  random: Random,
): Promise<OverlayOptions> {
  const pattern = await paintPattern(size, random);
  if (!mask) return readRaw(pattern.ensureAlpha(OPACITY), 'prompt');
  const place = await readPlace(size, mask);
  return readRaw(pattern.joinChannel(place.input, { raw: place.raw }), 'prompt');
}

/** The opacity of the pattern at each pixel. */
async function readPlace({ width, height }: Size, mask: UploadedFile): Promise<Raw> {
  const sharp = await loadSharp();
  const { hasAlpha } = await sharp(mask.bytes).metadata();
  const whole = sharp(mask.bytes).resize(width, height, { fit: 'fill' });
  const place = hasAlpha ? whole.extractChannel('alpha').negate() : whole.greyscale().extractChannel(0);
  return readRaw(place.linear(OPACITY), mask.name);
}

interface Raw {
  input: Buffer;
  raw: CreateRaw;
}

async function readRaw(image: Sharp, name: string): Promise<Raw> {
  const { data, info } = await image
    .raw()
    .toBuffer({ resolveWithObject: true })
    .catch((error: Error) => {
      throw refuse(`Invalid image in ${name}: ${error.message}`, name);
    });
  return { input: data, raw: { width: info.width, height: info.height, channels: info.channels } };
}
