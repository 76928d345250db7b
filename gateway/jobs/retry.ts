/** Repeats a call of Redis until it is answered: the functions answer a repeat with the same token as the first. */
import { retry } from '../../kit/retry.ts';
import { isRedisAway } from '../../redis/client.ts';

const BACKOFF = { baseMs: 50, maxMs: 1_000 };

/** Throws any error but the absence of Redis, or the signal's reason. */
export const retryWhileRedisDown = <T>(call: () => Promise<T>, signal?: AbortSignal): Promise<T> =>
  retry(call, { backoff: BACKOFF, isTransient: isRedisAway, signal });
