/** Tracks whether the server responds slowly. */
import { useSyncExternalStore } from 'react';

/** Calls that take longer count as slow. */
const SLOW_AFTER_MS = 3_000;

let slowCalls = 0;
const listeners = new Set<() => void>();

function change(by: number): void {
  slowCalls += by;
  for (const listener of listeners) listener();
}

/** Counts a call as slow from SLOW_AFTER_MS until it ends. */
export async function watchSlowness<T>(call: Promise<T>): Promise<T> {
  let isSlow = false;
  const timer = setTimeout(() => {
    isSlow = true;
    change(1);
  }, SLOW_AFTER_MS);
  try {
    return await call;
  } finally {
    clearTimeout(timer);
    if (isSlow) change(-1);
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** True while at least one call is slow. */
export const useSlowness = (): boolean => useSyncExternalStore(subscribe, () => slowCalls > 0);
