/** What a video engine is sent: a form, or JSON where an old engine takes no form without a file. */
import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { listExtraFields, writeFormValue } from './extra-fields.ts';
import type { VideoParameters } from './job.ts';

/** The image that a video begins with, on disk. */
export interface ReferenceFile {
  path: string;
  bytes: number;
  contentType: string;
  fileName: string;
}

export interface VideoBody {
  headers: Record<string, string>;
  /** A fresh body each time, for one that was not sent may be sent once more. */
  open(): Buffer | Readable;
}

/** The reference is read from disk while it is sent; the length is known before. */
export function buildVideoForm(
  servedModelName: string,
  parameters: VideoParameters,
  reference: ReferenceFile | null,
): VideoBody {
  const boundary = `berth-${randomUUID()}`;
  const begin = (name: string, more = '') =>
    `--${boundary}\r\ncontent-disposition: form-data; name="${name}"${more}\r\n`;
  const fields = Object.entries(listFields(servedModelName, parameters))
    .map(([name, value]) => `${begin(name)}\r\n${writeFormValue(value)}\r\n`)
    .join('');
  const name = reference?.fileName.replace(/[^\w.-]/g, '_').slice(-100);
  const file = reference
    ? `${begin('input_reference', `; filename="${name}"`)}content-type: ${reference.contentType}\r\n\r\n`
    : '';
  const head = Buffer.from(fields + file);
  const tail = Buffer.from(`${reference ? '\r\n' : ''}--${boundary}--\r\n`);
  const length = head.length + (reference?.bytes ?? 0) + tail.length;
  async function* read() {
    yield head;
    if (reference) yield* createReadStream(reference.path);
    yield tail;
  }
  return {
    headers: {
      'content-type': `multipart/form-data; boundary=${boundary}`,
      'content-length': String(length),
    },
    open: () => Readable.from(read(), { objectMode: false }),
  };
}

export function buildVideoJSON(servedModelName: string, parameters: VideoParameters): VideoBody {
  const body = Buffer.from(JSON.stringify(listFields(servedModelName, parameters)));
  return {
    headers: { 'content-type': 'application/json', 'content-length': String(body.length) },
    open: () => body,
  };
}

/** Never `seconds`: engines disagree about its type, and frames say it exactly. */
function listFields(servedModelName: string, parameters: VideoParameters): Record<string, unknown> {
  const { prompt, size, frames, fps } = parameters;
  return {
    model: servedModelName,
    prompt,
    size,
    num_frames: frames,
    fps,
    ...listExtraFields(parameters),
  };
}
