/** Repeats a call of Redis until it is answered: the functions answer a repeat with the same token as the first. */
import { setTimeout as wait } from 'node:timers/promises';
import { isRedisAway } from '../../redis/client.ts';

const INITIAL_DELAY_MS = 50;
const MAX_DELAY_MS = 1_000;

/** Throws what is no absence of Redis, or the signal's reason. */
export async function retryWhileRedisDown<T>(call: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  for (let delayMs = INITIAL_DELAY_MS; ; delayMs = Math.min(delayMs * 2, MAX_DELAY_MS)) {
    signal?.throwIfAborted();
    try {
      return await call();
    } catch (error) {
      if (!isRedisAway(error)) throw error;
    }
    // Half of it by chance, so that a Redis that comes back is not met by all at once.
    await wait(delayMs * (0.5 + Math.random() / 2), undefined, { signal }).catch(() =>
      signal?.throwIfAborted(),
    );
  }
}
