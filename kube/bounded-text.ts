/** Reads the API server's answers with a size limit, since they hold what tenants wrote. */
import type { Readable } from 'node:stream';
import { ApiError, TOO_LARGE } from './api-error.ts';

/** Of an answer with many objects. */
export const MAX_ANSWER_BYTES = 6 * 1024 * 1024;
/**
 * Of an answer with one object, or of one event of a watch. Any one object is smaller: etcd takes 1.5 MiB, of which JSON
 * makes six times as much where it is all `<`, `>` and `&`. What is refused here would stop a watch for ever.
 */
export const MAX_OBJECT_BYTES = 16 * 1024 * 1024;

/** Throws an `ApiError` (see `isTooLarge`) for an answer of more than `maxBytes` bytes. */
export async function readText(body: Readable, call: string, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw tooLarge(call, maxBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

export const tooLarge = (call: string, maxBytes: number): ApiError =>
  new ApiError({ code: 413, reason: TOO_LARGE, call }, `more than ${maxBytes} bytes`);
