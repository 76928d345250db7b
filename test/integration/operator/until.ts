/** Waits on a condition, with a deadline: the tests' one way to wait. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  { timeoutMs = 60_000, what = condition.toString() } = {},
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`still not after ${timeoutMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
