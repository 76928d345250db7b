/**
 * Latency buckets as gateways of earlier versions write them (decision 0375). Redis keeps them for 35 days, and later gateways
 * write them where Redis has the functions of an earlier version.
 */
import { LatencySketch } from '../../kit/latency-sketch.ts';
import type { HashCounts } from './usage-batch.ts';

/** Upper bounds in milliseconds; one more bucket holds longer times. */
const BOUNDS_MS = [
  50, 100, 200, 350, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000, 1_800_000,
] as const;

/** The letter of a kind's buckets, by that of its sketch; none for waits. */
const LETTERS: Record<string, string> = { w: 'b', f: 't' };

/** Counts times of an earlier bucket, as if they were spread evenly within it. */
export function addEarlierBucket(sketch: LatencySketch, bucket: number, count: number): void {
  const upper = BOUNDS_MS[bucket] ?? BOUNDS_MS.at(-1)!;
  sketch.spread(BOUNDS_MS[bucket - 1] ?? 0, upper, count);
}

/** The same with buckets instead of sketches. */
export function coarsenLatencies({ sketches = [], ...hash }: HashCounts): HashCounts {
  return { ...hash, counts: [...hash.counts, ...sketches.flatMap(listBuckets)] };
}

function listBuckets([field, text]: readonly [string, string]): [string, number][] {
  const [slot, kind] = field.split(':');
  const letter = LETTERS[kind!];
  if (!letter) return [];
  const sketch = new LatencySketch();
  sketch.merge(text);
  const sums = new Map<string, number>();
  for (const [ms, count] of sketch.times()) {
    const name = `${slot}:${letter}${findBucket(ms)}`;
    sums.set(name, (sums.get(name) ?? 0) + count);
  }
  return [...sums];
}

function findBucket(ms: number): number {
  const index = BOUNDS_MS.findIndex((bound) => ms <= bound);
  return index === -1 ? BOUNDS_MS.length : index;
}
