/** Makes images of a form's files: judged by their bytes, whatever their sender calls them. */
import { ApiError } from '../error-response.ts';
import { readImageFacts } from './image-facts.ts';
import type { FormFile } from './multipart.ts';
import type { UploadedFile } from './order.ts';

/** What an engine would decode at once. */
const MOST_PIXELS = 64_000_000;

/** One field's files in their order. Throws ApiError `invalid_image`. */
export async function readUploadedImages(files: readonly FormFile[], field: string): Promise<UploadedFile[]> {
  const images: UploadedFile[] = [];
  for (const each of files)
    if (each.field === field) images.push(await readUploadedImage(each, images.length));
  return images;
}

async function readUploadedImage({ field, file }: FormFile, index: number): Promise<UploadedFile> {
  const facts = await readImageFacts(file.path);
  if (!facts)
    throw new ApiError('invalid_image', `\`${field}\` is not an image: it must be a PNG, JPEG or WebP.`, {
      param: field,
    });
  const { contentType, width, height } = facts;
  if (width * height > MOST_PIXELS)
    throw new ApiError(
      'invalid_image',
      `\`${field}\` is ${width}x${height}, which is over the limit of ${MOST_PIXELS / 1e6} megapixels.`,
      { param: field },
    );
  // A name of the sender's would need cleaning, and nobody needs it.
  const [, extension] = contentType.split('/');
  const fileName = `${field}${index === 0 ? '' : `-${index + 1}`}.${extension}`;
  return Object.assign(file, { contentType, fileName });
}
