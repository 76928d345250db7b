/** Counts that an engine reports, to be added up: JSON may hold anything in the place of one. */

/** More than any response has, and less than a 32-bit -1 without its sign. */
const MAX_COUNT = 1_000_000_000;

/** A whole number of at most a billion, rounded up; null for anything else. */
export const readCount = (value: unknown): number | null =>
  typeof value === 'number' && value >= 0 && value <= MAX_COUNT ? Math.ceil(Math.abs(value)) : null;

/** Their sum; null if any is not a count. */
export function sumCounts(values: readonly unknown[]): number | null {
  const counts = values.map(readCount);
  return counts.includes(null) ? null : counts.reduce<number>((sum, count) => sum + count!, 0);
}
