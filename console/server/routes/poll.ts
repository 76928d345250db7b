/** Looks again until it is so, or time is up. */

const FIRST_MS = 100;
const LONGEST_MS = 400;

/** Answers what was seen last, and whether it is as wanted. */
export async function lookUntil<T>(
  look: () => Promise<T>,
  isWanted: (seen: T) => boolean,
  timeoutMs: number,
): Promise<{ seen: T; isWanted: boolean }> {
  const deadline = performance.now() + timeoutMs;
  for (let wait = FIRST_MS; ; wait = Math.min(wait * 1.5, LONGEST_MS)) {
    const seen = await look();
    if (isWanted(seen)) return { seen, isWanted: true };
    if (performance.now() + wait > deadline) return { seen, isWanted: false };
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}
