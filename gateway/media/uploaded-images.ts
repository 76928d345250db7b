/** Validates a request's files as images: by their bytes, whatever type they are declared as. */
import { open } from 'node:fs/promises';
import { sniffMediaType } from '../egress/media-type.ts';
import { ApiError } from '../http/error-response.ts';
import type { UploadedFile } from '../jobs/media-request.ts';
import type { FormFile } from './form-parts.ts';
import { isWholeImage } from './image-end.ts';
import { findImageFacts, type ImageFacts, type ReadAt } from './image-facts.ts';

const START_BYTES = 256;
/** A damaged one does not count. */
const ACCEPTED = new Set(['png', 'jpeg', 'webp']);
/** Limit of pixels that an engine decodes at once. */
const MAX_PIXELS = 64_000_000;

/** One field's files in their order. Throws ApiError `invalid_image`. */
export async function readUploadedImages(files: readonly FormFile[], field: string): Promise<UploadedFile[]> {
  const images: UploadedFile[] = [];
  for (const each of files)
    if (each.field === field) images.push(await readUploadedImage(each, images.length));
  return images;
}

/** Other image types are named in the error, so that nobody suspects the file. */
async function describeOther(path: string, param: string): Promise<string> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(START_BYTES), 0, START_BYTES, 0);
    const [, type] = sniffMediaType(buffer.subarray(0, bytesRead), 'image')?.split('/') ?? [];
    const what = type && !ACCEPTED.has(type) ? `is a ${type.toUpperCase()} image` : 'is not an image';
    return `\`${param}\` ${what}: it must be a PNG, JPEG or WebP.`;
  } finally {
    await file.close();
  }
}

async function readUploadedImage({ field, param, file }: FormFile, index: number): Promise<UploadedFile> {
  const facts = await readImageFacts(file.path);
  if (!facts) throw new ApiError('invalid_image', await describeOther(file.path, param), { param });
  const { contentType, width, height, isWhole } = facts;
  if (!isWhole)
    throw new ApiError('invalid_image', `\`${param}\` is truncated: send the complete file.`, {
      param,
    });
  if (width * height > MAX_PIXELS)
    throw new ApiError(
      'invalid_image',
      `\`${param}\` is ${width}x${height}, which exceeds the limit of ${MAX_PIXELS / 1e6} megapixels.`,
      { param },
    );
  // The sender's name would need sanitizing, and is not needed.
  const [, extension] = contentType.split('/');
  const fileName = `${field}${index === 0 ? '' : `-${index + 1}`}.${extension}`;
  return Object.assign(file, { contentType, fileName });
}

/** Null except for a PNG, JPEG or WebP with a complete header. `isWhole`: the file is complete by its format. */
async function readImageFacts(path: string): Promise<(ImageFacts & { isWhole: boolean }) | null> {
  const file = await open(path);
  try {
    const readAt: ReadAt = async (position, length) => {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, Math.max(0, position));
      return buffer.subarray(0, bytesRead);
    };
    const facts = await findImageFacts(readAt);
    if (!facts) return null;
    const { size: bytes } = await file.stat();
    return { ...facts, isWhole: await isWholeImage(readAt, { ...facts, bytes }) };
  } finally {
    await file.close();
  }
}
