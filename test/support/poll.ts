/** The tests' way to wait for something: on a condition, with a timeout. */

const INTERVAL_MS = 20;

/** Polls `condition` until it holds; throws an error that says `what` did not happen within `timeoutMs`. */
export async function pollUntil(
  condition: () => boolean | Promise<boolean>,
  what: string = condition.toString(),
  timeoutMs = 60_000,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`Not within ${timeoutMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, INTERVAL_MS));
  }
}
