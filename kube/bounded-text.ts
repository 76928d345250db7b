/** Reads the API server's answers with a size limit, since they hold what tenants wrote. */
import type { Readable } from 'node:stream';
import { BodyTooLargeError, readBody } from '../kit/bounded-body.ts';
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
  try {
    return (await readBody(body, maxBytes)).toString('utf8');
  } catch (error) {
    throw error instanceof BodyTooLargeError ? tooLarge(call, maxBytes) : error;
  }
}

export const tooLarge = (call: string, maxBytes: number): ApiError =>
  new ApiError({ code: 413, reason: TOO_LARGE, call }, `more than ${maxBytes} bytes`);
