/** Reads a multipart form within bounds, files in memory. */
import type { IncomingMessage } from 'node:http';
import type { BusboyHeaders, BusboyInstance } from '@fastify/busboy';
import type { Fields } from './fields.ts';
import { checkBodySize } from './request-body.ts';

export interface UploadedFile {
  name: string;
  bytes: Buffer;
}

/** A part as the control port shows it. */
export interface ShownPart {
  name: string;
  /** Null: a text field. */
  filename: string | null;
  /** Bytes. */
  size: number;
  /** Null: a file. */
  value: string | null;
}

export type ParsedForm =
  | { ok: true; value: Fields; files: UploadedFile[]; shown: ShownPart[] }
  | { ok: false; text: string; problem: string };

const LIMITS = { fieldNameSize: 100, fieldSize: 1024 * 1024, fields: 64, files: 32, headerPairs: 20 };

export const isForm = (request: IncomingMessage): boolean =>
  /^multipart\/form-data\b/i.test(request.headers['content-type'] ?? '');

/** Throws an EngineError with 413 if it is too large; rejects if the client disconnects early. */
export async function readForm(request: IncomingMessage): Promise<ParsedForm> {
  const parser = await createParser(request);
  if (typeof parser === 'string') {
    request.resume();
    return refuseForm(parser);
  }
  if (request.destroyed) throw new Error('client disconnected');
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      request.unpipe(parser).resume();
    };
    const fail = (problem: string): void => {
      stop();
      resolve(refuseForm(problem));
    };
    collectParts(parser, { done: resolve, fail });
    checkBodySize(request, (tooLarge) => {
      stop();
      reject(tooLarge);
    });
    request.on('error', reject);
    request.pipe(parser);
  });
}

const refuseForm = (problem: string): ParsedForm => ({ ok: false, text: '', problem });

/** The parser, or why there can be none; loaded when the first form comes, so that text starts without it. */
async function createParser(request: IncomingMessage): Promise<BusboyInstance | string> {
  const { Busboy } = await import('@fastify/busboy');
  try {
    return new Busboy({ headers: request.headers as BusboyHeaders, limits: LIMITS });
  } catch (error) {
    return (error as Error).message;
  }
}

function collectParts(
  parser: BusboyInstance,
  { done, fail }: { done: (form: ParsedForm) => void; fail: (problem: string) => void },
): void {
  const value: Fields = Object.create(null);
  const files: UploadedFile[] = [];
  const shown: ShownPart[] = [];
  parser.on('field', (name, text, isNameCut, isCut) => {
    if (isNameCut || isCut) return fail(`the field ${name.slice(0, 100)} is too long`);
    value[name] = text;
    shown.push({ name, filename: null, size: Buffer.byteLength(text), value: text });
  });
  parser.on('file', (name, stream, filename) => {
    const chunks: Buffer[] = [];
    const part: ShownPart = { name, filename: filename ?? '', size: 0, value: null };
    shown.push(part);
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('error', (error: Error) => fail(error.message));
    stream.on('end', () => {
      const bytes = Buffer.concat(chunks);
      files.push({ name, bytes });
      part.size = bytes.length;
    });
  });
  for (const limit of ['fieldsLimit', 'filesLimit'] as const) parser.on(limit, () => fail('too many parts'));
  parser.on('error', (error) => fail((error as Error).message));
  parser.on('finish', () => done({ ok: true, value, files, shown }));
}
