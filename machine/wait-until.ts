const INTERVAL_MS = 20;

/** Polls `condition` until it is true; after `timeoutMs` throws an error with `what`, evaluated at that time. */
export async function waitUntil(
  condition: () => boolean | Promise<boolean>,
  what: string | (() => string),
  timeoutMs: number,
  intervalMs = INTERVAL_MS,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > deadline)
      throw new Error(
        `Timed out after ${timeoutMs} ms waiting for: ${typeof what === 'string' ? what : what()}`,
      );
    await new Promise((resolve) => setTimeout(resolve, intervalMs));
  }
}
