/** A multipart form for an engine. */
import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { KeptBody } from '../../kit/kept-body.ts';

/** A file on disk. */
export interface PartFile {
  path: string;
  bytes: number;
  contentType: string;
}

export interface FormPart {
  /** Name of the field. */
  name: string;
  fileName: string;
  file: PartFile;
}

export interface EngineForm {
  headers: Record<string, string>;
  body: KeptBody;
}

/** Files are read from disk while they are sent; the length is known before. */
export function buildForm(
  fields: readonly (readonly [name: string, text: string])[],
  files: readonly FormPart[],
): EngineForm {
  const boundary = `berth-${randomUUID()}`;
  const begin = (name: string, more = '') =>
    `--${boundary}\r\ncontent-disposition: form-data; name="${name}"${more}\r\n`;
  const start = Buffer.from(fields.map(([name, text]) => `${begin(name)}\r\n${text}\r\n`).join(''));
  const parts = files.map(({ name, fileName, file }) => {
    const head = `${begin(name, `; filename="${fileName}"`)}content-type: ${file.contentType}\r\n\r\n`;
    return { file, head: Buffer.from(head) };
  });
  const lineEnd = Buffer.from('\r\n');
  const end = Buffer.from(`--${boundary}--\r\n`);
  const length = parts.reduce(
    (sum, { file, head }) => sum + head.length + file.bytes + lineEnd.length,
    start.length + end.length,
  );
  async function* read(): AsyncGenerator<Buffer> {
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
    body: new KeptBody(read),
  };
}
