/** Retries a call while Redis is down: its functions are idempotent for the same token. */
import { retry } from '../kit/retry.ts';
import { isRedisAway } from './client.ts';

const BACKOFF = { baseMs: 50, maxMs: 1_000 };

/** Throws any other error at once, and the last error of Redis when the signal is aborted. */
export async function retryWhileRedisDown<T>(call: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  let outage: unknown;
  const isTransient = (error: unknown): boolean => {
    if (!isRedisAway(error)) return false;
    outage = error;
    return true;
  };
  try {
    return await retry(call, { backoff: BACKOFF, isTransient, signal });
  } catch (error) {
    throw outage !== undefined && error === signal?.reason ? outage : error;
  }
}
