/** What a video engine is sent: a form, or JSON where an old engine takes no form without a file. */
import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { listExtraFields, writeFormValue } from './extra-fields.ts';
import type { VideoParameters } from './job.ts';

/** An image that a video begins with, or follows, on disk. */
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

/** References are read from disk while they are sent; the length is known before. `name`: the engine's, of several. */
export function buildVideoForm(
  servedModelName: string,
  parameters: VideoParameters,
  references: { files: readonly ReferenceFile[]; name: string },
): VideoBody {
  const boundary = `berth-${randomUUID()}`;
  const begin = (name: string, more = '') =>
    `--${boundary}\r\ncontent-disposition: form-data; name="${name}"${more}\r\n`;
  const fields = Object.entries(listFields(servedModelName, parameters))
    .map(([name, value]) => `${begin(name)}\r\n${writeFormValue(value)}\r\n`)
    .join('');
  const field = references.files.length > 1 ? references.name : 'input_reference';
  const parts = references.files.map((file) => {
    const name = file.fileName.replace(/[^\w.-]/g, '_').slice(-100);
    const head = `${begin(field, `; filename="${name}"`)}content-type: ${file.contentType}\r\n\r\n`;
    return { file, head: Buffer.from(head) };
  });
  const start = Buffer.from(fields);
  const lineEnd = Buffer.from('\r\n');
  const end = Buffer.from(`--${boundary}--\r\n`);
  const length = parts.reduce(
    (sum, { file, head }) => sum + head.length + file.bytes + lineEnd.length,
    start.length + end.length,
  );
  async function* read() {
    yield start;
    for (const { file, head } of parts) {
      yield head;
      yield* createReadStream(file.path);
      yield lineEnd;
    }
    yield end;
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
