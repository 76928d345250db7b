/** Retries with exponential backoff. */
import { type Clock, sleep, systemClock } from './clock.ts';

export interface Backoff {
  /** Delay of the first retry in milliseconds; it doubles with every further one. */
  baseMs: number;
  maxMs: number;
}

/** The delay before retry number `attempt` (from 1), without jitter. */
export const exponentialDelay = ({ baseMs, maxMs }: Backoff, attempt: number): number =>
  Math.min(maxMs, baseMs * 2 ** Math.min(attempt - 1, 30));

/** As `exponentialDelay`, with 50 % jitter, which avoids a thundering herd on recovery. */
export function backoffDelay(backoff: Backoff, attempt: number, random = Math.random): number {
  const delay = exponentialDelay(backoff, attempt);
  return delay / 2 + (random() * delay) / 2;
}

export interface RetryOptions {
  backoff: Backoff;
  /** Whether another attempt may succeed. */
  isTransient: (error: unknown) => boolean;
  /** Unlimited if absent. */
  maxAttempts?: number;
  /** Before the delay of each retry. */
  onRetry?: (error: Error) => void;
  signal?: AbortSignal | undefined;
  clock?: Clock;
  random?: () => number;
}

/** Repeats `call` until it succeeds. Throws an error that is not transient, the last attempt's, or the reason of the signal. */
export async function retry<T>(call: () => Promise<T>, options: RetryOptions): Promise<T> {
  const {
    backoff,
    isTransient,
    maxAttempts = Infinity,
    onRetry,
    signal,
    clock = systemClock,
    random,
  } = options;
  for (let attempt = 1; ; attempt++) {
    signal?.throwIfAborted();
    try {
      return await call();
    } catch (error) {
      if (attempt >= maxAttempts || !isTransient(error)) throw error;
      signal?.throwIfAborted();
      onRetry?.(error as Error);
    }
    await sleep(clock, backoffDelay(backoff, attempt, random), signal);
  }
}
