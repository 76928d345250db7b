import { expect } from 'chai';
import { estimateQuantile, findBucket, LATENCY_BOUNDS_MS } from '../../../redis/usage/latency-buckets.ts';

/** Counts with these amounts in the given buckets. */
const spread = (amounts: Record<number, number>): number[] =>
  Array.from({ length: LATENCY_BOUNDS_MS.length + 1 }, (_, index) => amounts[index] ?? 0);

describe('latency buckets', () => {
  const places: [number, number][] = [
    [0, 0],
    [50, 0],
    [50.1, 1],
    [1_000, 5],
    [1_800_000, 12],
    [9_999_999, 13],
  ];
  for (const [milliseconds, bucket] of places)
    it(`put ${milliseconds} ms into bucket ${bucket}`, () => {
      expect(findBucket(milliseconds)).to.equal(bucket);
    });

  const estimates: [string, number[], number, number | null][] = [
    ['nothing', spread({}), 0.5, null],
    ['the middle of the one bucket that has any', spread({ 1: 10 }), 0.5, 75],
    ['the bucket in which the rank lies', spread({ 0: 90, 6: 10 }), 0.95, 1_500],
    ['the end of a bucket', spread({ 0: 50, 6: 50 }), 0.5, 50],
    ['what is longer than all bounds as the longest', spread({ 13: 3 }), 0.95, 1_800_000],
  ];
  for (const [name, counts, share, expected] of estimates)
    it(`estimate the ${share * 100}th percentile of ${name} as ${expected}`, () => {
      expect(estimateQuantile(counts, share)).to.equal(expected);
    });
});
