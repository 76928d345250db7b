import { expect } from 'chai';
import { formatAdded, isReached, listGoals, summarize } from '../../bench/report.ts';
import type { Round } from '../../bench/rounds.ts';
import { listSlowest, poolP99 } from '../../bench/statistics.ts';

const round = (system: string, more: Partial<Round>): Round => ({
  system,
  readyMs: 200,
  idleMiB: 70,
  peakMiB: 140,
  singleP50Ms: 0,
  singleP99Ms: 0,
  manyP50Ms: 0,
  manyP99Ms: 0,
  rateP50Ms: 0,
  rateP99Ms: 0,
  rate: { requests: 100, slowest: [1] },
  rateCPUMicros: 100,
  requestsPerSecond: 10_000,
  cpuPerRequestMicros: 50,
  cpuPerFrameMicros: 5,
  cpuPerPacedFrameMicros: 40,
  firstFrameP50Ms: 0,
  firstFrameP99Ms: 0,
  gapP99Ms: 10,
  freedMidStream: 20,
  freedEarly: 20,
  promotedKBPerRequest: 1,
  markCompactsPer10000: 1,
  errors: 0,
  ...more,
});
const MEDIANS = summarize([
  round('direct', {}),
  round('floor', { singleP99Ms: 1, manyP50Ms: 3, rateP50Ms: 0.25 }),
  round('berth', { singleP99Ms: 3, manyP50Ms: 8, rateP50Ms: 0.5 }),
]);

describe('what Berth adds, in the table of the bench', () => {
  const readRow = (label: string) => {
    const row = formatAdded(MEDIANS)
      .split('\n')
      .find((line) => line.startsWith(label));
    return row?.slice(label.length).trim().split(/ +/);
  };

  it('has p50 and p99 of 1 and of 64 connections, of which one has a goal', () => {
    expect(readRow('latency p99 ms, 1 connection')).to.deep.equal(['3.00', '2.00', '–']);
    expect(readRow('latency p50 ms, 64 connections')).to.deep.equal(['8.00', '5.00', '–']);
    expect(readRow('latency p99 ms, 64 connections')).to.deep.equal(['0.00', '0.00', '–']);
    expect(readRow('latency p50 ms, 1 connection')?.at(-1)).to.equal('0.12');
  });

  it('has the goal of both percentiles at a fixed rate, which are listed among the goals', () => {
    expect(readRow('latency p50 ms, 1,000/s')).to.deep.equal(['0.50', '0.25', '0.12']);
    expect(readRow('latency p99 ms, 1,000/s')?.at(-1)).to.equal('1.00');
    const goal = listGoals(MEDIANS).find(({ label }) => label === 'over floor: latency p50 ms, 1,000/s');
    expect(goal).to.include({ value: 0.25, limit: 0.12 });
    expect(isReached(goal!)).to.equal(false);
  });

  it('has the p99 of all rounds together, of which one may have most of the slow requests', () => {
    const latencies = Array.from({ length: 1_000 }, (_, index) => index);
    const rounds = [latencies, latencies.map(() => 1), latencies.map(() => 1)];
    const pooled = poolP99(rounds.map((all) => ({ requests: all.length, slowest: listSlowest(all) })));
    expect(pooled).to.equal(rounds.flat().toSorted((a, b) => b - a)[29]);
  });
});
