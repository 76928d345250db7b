/** Waiting on a condition. */

const INTERVAL_MS = 100;

/** Calls `isMet` until it answers true; throws, naming what was waited for, when that takes too long. */
export async function pollUntil(
  what: string,
  timeoutMs: number,
  isMet: () => boolean | Promise<boolean>,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await isMet())) {
    if (Date.now() > deadline) throw new Error(`waited ${timeoutMs / 1000} s in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, INTERVAL_MS));
  }
}
