/** Reads what the API server says, which holds what tenants wrote: no more of it than memory has room for. */
import type { Readable } from 'node:stream';
import { ApiError, TOO_LARGE } from './api-error.ts';

/** Of one answer, or of one event of a watch. Any one object is smaller: etcd takes 1.5 MiB. */
export const MAX_ANSWER_BYTES = 6 * 1024 * 1024;

/** Throws an `ApiError` (see `isTooLarge`) for an answer of more than MAX_ANSWER_BYTES. */
export async function readText(body: Readable, call: string): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) throw tooLarge(call);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

export const tooLarge = (call: string): ApiError =>
  new ApiError({ code: 413, reason: TOO_LARGE, call }, `more than ${MAX_ANSWER_BYTES} bytes`);
