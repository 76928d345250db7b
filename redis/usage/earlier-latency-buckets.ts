/** Latency buckets that gateways wrote before there were sketches (decision 0375): Redis keeps the last for 35 days. */
import type { LatencySketch } from './latency-sketch.ts';

/** Upper bounds in milliseconds; one more bucket holds longer times. */
const BOUNDS_MS = [
  50, 100, 200, 350, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000, 1_800_000,
] as const;

/** Counts times of an earlier bucket, as if they were spread evenly within it. */
export function addEarlierBucket(sketch: LatencySketch, bucket: number, count: number): void {
  const upper = BOUNDS_MS[bucket] ?? BOUNDS_MS.at(-1)!;
  sketch.spread(BOUNDS_MS[bucket - 1] ?? 0, upper, count);
}
