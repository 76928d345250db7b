/** What an image engine is sent: JSON for an image from words, a form with files for an edit. */
import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { listExtraFields, writeFormValue } from './extra-fields.ts';
import type { ImageParameters } from './job.ts';

/** An image on disk. */
export interface ImageFile {
  path: string;
  bytes: number;
  /** image/png, image/jpeg or image/webp. */
  contentType: string;
}

export interface EditFiles {
  images: readonly ImageFile[];
  mask: ImageFile | null;
  /** The engine's name of the mask. */
  maskField: string;
}

export interface ImageBody {
  /** At the engine. */
  path: string;
  headers: Record<string, string>;
  /** A fresh body each time, for one that was not sent may be sent once more. */
  open(): Buffer | Readable;
}

/** Names of fields are those that SGLang Diffusion and vLLM-Omni share; others ignore what they do not know. */
export function buildGenerationBody(servedModelName: string, parameters: ImageParameters): ImageBody {
  const body = Buffer.from(JSON.stringify(listFields(servedModelName, parameters)));
  return {
    path: '/v1/images/generations',
    headers: { 'content-type': 'application/json', 'content-length': String(body.length) },
    open: () => body,
  };
}

/** The files are read from disk while they are sent; the length is known before. */
export function buildEditBody(
  servedModelName: string,
  parameters: ImageParameters,
  files: EditFiles,
): ImageBody {
  const boundary = `berth-${randomUUID()}`;
  const open = (name: string, more = '') =>
    `--${boundary}\r\ncontent-disposition: form-data; name="${name}"${more}\r\n`;
  const fields = Object.entries(listFields(servedModelName, parameters))
    .map(([name, value]) => `${open(name)}\r\n${writeFormValue(value)}\r\n`)
    .join('');
  const imageName = files.images.length === 1 ? 'image' : 'image[]';
  const parts = [
    ...files.images.map((file, index) => ({ file, name: imageName, fileName: `image-${index}` })),
    ...(files.mask ? [{ file: files.mask, name: files.maskField, fileName: 'mask' }] : []),
  ].map(({ file, name, fileName }) => {
    const [, extension] = file.contentType.split('/');
    const head = `${open(name, `; filename="${fileName}.${extension}"`)}content-type: ${file.contentType}\r\n\r\n`;
    return { file, head: Buffer.from(head) };
  });
  const start = Buffer.from(fields);
  const lineEnd = Buffer.from('\r\n');
  const end = Buffer.from(`--${boundary}--\r\n`);
  const length = parts.reduce(
    (sum, { file, head }) => sum + head.length + file.bytes + lineEnd.length,
    start.length + end.length,
  );
  return {
    path: '/v1/images/edits',
    headers: {
      'content-type': `multipart/form-data; boundary=${boundary}`,
      'content-length': String(length),
    },
    open: () =>
      Readable.from(
        (async function* () {
          yield start;
          for (const { file, head } of parts) {
            yield head;
            yield* createReadStream(file.path);
            yield lineEnd;
          }
          yield end;
        })(),
        { objectMode: false },
      ),
  };
}

function listFields(servedModelName: string, parameters: ImageParameters): Record<string, unknown> {
  const { prompt, n, size, outputFormat } = parameters;
  return {
    model: servedModelName,
    prompt,
    n,
    size,
    // Links of an engine lead nowhere outside its pod.
    response_format: 'b64_json',
    ...(outputFormat && { output_format: outputFormat }),
    ...listExtraFields(parameters),
  };
}
