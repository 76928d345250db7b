/** Time as a parameter, so that tests move it by hand. */
export interface Clock {
  /** Milliseconds that only move forward: for intervals, never for dates. */
  now(): number;
  /** The time of day, for what is written into objects. */
  date(): Date;
  /** Runs `callback` once after `ms`; the function that it returns cancels it. */
  after(ms: number, callback: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  date: () => new Date(),
  after(ms, callback) {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};

/** Waits `ms`, or less where the signal aborts: it never throws, so that loops check the signal themselves. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const finish = () => {
      cancel();
      signal?.removeEventListener('abort', finish);
      resolve();
    };
    const cancel = clock.after(ms, finish);
    signal?.addEventListener('abort', finish);
  });
}
