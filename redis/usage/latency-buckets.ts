/** Latency histograms: buckets, and quantiles. */

/** Upper bounds in milliseconds; one more bucket holds longer times. */
export const LATENCY_BOUNDS_MS = [
  50, 100, 200, 350, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000, 1_800_000,
] as const;

/** For times to the first token, counted beside those of whole requests. */
export type FirstTokenBucket = `t${number}`;

export const findFirstTokenBucket = (milliseconds: number): FirstTokenBucket =>
  `t${findBucket(milliseconds)}`;

export function findBucket(milliseconds: number): number {
  const index = LATENCY_BOUNDS_MS.findIndex((bound) => milliseconds <= bound);
  return index === -1 ? LATENCY_BOUNDS_MS.length : index;
}

/**
 * The time in milliseconds that `share` (0–1) of all stayed below, as if times were spread evenly within a bucket; null
 * without any. Times in the last bucket count as its lower bound.
 */
export function estimateQuantile(counts: readonly number[], share: number): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  const rank = share * total;
  let below = 0;
  for (const [index, count] of counts.entries()) {
    if (count > 0 && below + count >= rank) {
      const lower = LATENCY_BOUNDS_MS[index - 1] ?? 0;
      const upper = LATENCY_BOUNDS_MS[index] ?? lower;
      return Math.round(lower + ((upper - lower) * (rank - below)) / count);
    }
    below += count;
  }
  return LATENCY_BOUNDS_MS.at(-1)!;
}
