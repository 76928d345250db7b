/** What is printed for the documentation. */
import { percentile } from '../bench/statistics.ts';

export const describeSpread = (milliseconds: number[]): string => {
  const [p50, p95, slowest] = [0.5, 0.95, 1].map((share) => percentile(milliseconds, share).toFixed(0));
  return `p50 ${p50} ms, p95 ${p95} ms, slowest ${slowest} ms of ${milliseconds.length}`;
};

export const say = (line: string): void => console.log(`        ${line}`);
