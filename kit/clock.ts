/** Time as a dependency, so that tests can control it. */
export interface Clock {
  /** Monotonic milliseconds: for intervals, never for dates. */
  now(): number;
  /** Wall-clock time, for timestamps in objects. */
  date(): Date;
  /** Runs `callback` once, when `now()` is at least `ms` later; the function that it returns cancels it. */
  after(ms: number, callback: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  date: () => new Date(),
  after(ms, callback) {
    // Node drops fractions, and may end a timer up to a millisecond early: whoever then compares times would wait forever.
    const timer = setTimeout(callback, Math.ceil(ms) + 1);
    return () => clearTimeout(timer);
  },
};

/** Waits `ms`, or until the signal aborts: it never throws, so loops check the signal themselves. */
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
