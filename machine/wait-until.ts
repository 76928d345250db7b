const INTERVAL_MS = 20;

/** Polls `condition` until it holds; throws an error that says `what` did not happen within `timeoutMs`, as known by then. */
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
