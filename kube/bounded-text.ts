/** Reads the API server's responses with a size limit, since they contain tenants' data. */
import type { Readable } from 'node:stream';
import { BodyTooLargeError, readBody } from '../kit/bounded-body.ts';
import { KubeApiError, TOO_LARGE } from './api-error.ts';

/** For a response with many objects. */
export const MAX_ANSWER_BYTES = 6 * 1024 * 1024;
/**
 * For a response with one object, or one event of a watch. Any object is smaller: etcd accepts 1.5 MiB, of which JSON
 * makes six times as much if it is all `<`, `>` and `&`. A smaller limit could stop a watch forever.
 */
export const MAX_OBJECT_BYTES = 16 * 1024 * 1024;

/** Throws a `KubeApiError` (see `isTooLarge`) for a response of more than `maxBytes` bytes. */
export async function readText(body: Readable, call: string, maxBytes: number): Promise<string> {
  try {
    return (await readBody(body, maxBytes)).toString('utf8');
  } catch (error) {
    throw error instanceof BodyTooLargeError ? tooLarge(call, maxBytes) : error;
  }
}

export const tooLarge = (call: string, maxBytes: number): KubeApiError =>
  new KubeApiError({ code: 413, reason: TOO_LARGE, call }, `more than ${maxBytes} bytes`);
