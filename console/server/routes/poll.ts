/** Polls until a condition is met, or a timeout. */
import { sleep, systemClock } from '../../../kit/clock.ts';

const MIN_INTERVAL_MS = 100;
const MAX_INTERVAL_MS = 400;

/** Returns the last value, and whether the condition was met. */
export async function pollUntil<T>(
  read: () => Promise<T>,
  isWanted: (seen: T) => boolean,
  timeoutMs: number,
): Promise<{ seen: T; isWanted: boolean }> {
  const deadline = performance.now() + timeoutMs;
  for (let wait = MIN_INTERVAL_MS; ; wait = Math.min(wait * 1.5, MAX_INTERVAL_MS)) {
    const seen = await read();
    if (isWanted(seen)) return { seen, isWanted: true };
    if (performance.now() + wait > deadline) return { seen, isWanted: false };
    await sleep(systemClock, wait);
  }
}
