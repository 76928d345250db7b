/** Statistics of rounds and loads; in a file of their own, since loads are compiled separately. Pure. */
export const median = (values: number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
};

/** The slowest fifth, slowest first, to 0.01 ms: enough for the p99 of several rounds of which one was bad. */
export const listSlowest = (latencies: number[]): number[] =>
  latencies
    .toSorted((a, b) => b - a)
    .slice(0, Math.ceil(latencies.length / 5))
    .map((latency) => Math.round(latency * 100) / 100);

/** The p99 of all requests of several rounds, from the slowest of each. */
export function poolP99(rounds: { requests: number; slowest: number[] }[]): number {
  const requests = rounds.reduce((sum, round) => sum + round.requests, 0);
  const slowest = rounds.flatMap((round) => round.slowest).sort((a, b) => b - a);
  return slowest[Math.max(0, Math.ceil(requests / 100) - 1)] ?? Number.NaN;
}

export const percentile = (values: number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ??
  Number.NaN;
