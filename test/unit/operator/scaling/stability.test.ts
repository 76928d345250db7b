/** The decision under whole loads, replayed by a virtual clock with fixed seeds. */
import { expect } from 'chai';
import type { ScalingRules } from '../../../../operator/scaling/decision.ts';
import { listSeeds } from '../../../support/random-seeds.ts';
import { createBerthAutoscaler } from '../../../support/scaling/berth-autoscaler.ts';
import { evenLoad, poissonLoad, squareWave } from '../../../support/scaling/loads.ts';
import { type Change, type SimulatedRequest, simulate } from '../../../support/scaling/simulation.ts';

const MINUTE_MS = 60_000;
const RULES: ScalingRules = {
  min: 0,
  max: 20,
  target: 16,
  stableMs: 60_000,
  panicMs: 6_000,
  idleMs: 10 * MINUTE_MS,
  targetWaitMs: MINUTE_MS,
};

interface Run {
  requests: SimulatedRequest[];
  durationMs: number;
  initial: number;
  loadMs?: number;
  rules?: Partial<ScalingRules>;
}

function run({ requests, durationMs, initial, loadMs = 20_000, rules }: Run): Change[] {
  const all = { ...RULES, ...rules };
  const scale = createBerthAutoscaler(all, loadMs);
  // Engines take more than the target: whoever is over it does not wait yet.
  return simulate({ requests, slots: all.target * 4, loadMs, initial, durationMs, tickMs: 2_000, scale })
    .changes;
}

describe('stability of the scaling decision', () => {
  for (const share of [0.95, 1, 1.05])
    for (const replicas of [1, 2, 5])
      it(`changes at most once in 10 minutes of constant load at ${share} of what ${replicas} serve`, () => {
        for (const seed of listSeeds()) {
          const load = replicas * RULES.target * share;
          const durationMs = 12 * MINUTE_MS;
          const concurrency = () => load;
          const requests = poissonLoad({ seed, durationMs, serviceMs: 1_000, concurrency, peak: load });
          const changes = run({ requests, durationMs, initial: replicas });
          const settled = changes.filter(({ at }) => at >= 2 * MINUTE_MS);
          expect(settled.length, `seed ${seed}: ${JSON.stringify(changes)}`).to.be.at.most(1);
        }
      });

  for (const periodMs of [10_000, 30_000, 60_000, 2 * MINUTE_MS, 5 * MINUTE_MS, 10 * MINUTE_MS])
    for (const [low, high] of [
      [0, 0.5],
      [0, 3],
      [1, 4],
      [2, 5],
    ] as const)
      describe(`a square wave of ${periodMs / 1000} s between ${low} and ${high} replicas' load`, () => {
        const durationMs = Math.max(30 * MINUTE_MS, 8 * periodMs);
        const begin = 2 * Math.max(periodMs, MINUTE_MS);
        const concurrency = squareWave(periodMs, low * RULES.target * 0.9, high * RULES.target * 0.9);
        const peak = high * RULES.target;

        it('causes at most two changes a period', () => {
          const changes = run({
            requests: evenLoad({ durationMs, serviceMs: 1_000, concurrency }),
            durationMs,
            initial: 1,
          });
          for (let from = begin; from < durationMs; from += periodMs) {
            const within = changes.filter(({ at }) => at >= from && at < from + periodMs);
            expect(within.length, JSON.stringify(within)).to.be.at.most(2);
          }
        });

        it('causes hardly more with the noise of random arrivals', () => {
          let all = 0;
          for (const seed of listSeeds()) {
            const requests = poissonLoad({ seed, durationMs, serviceMs: 1_000, concurrency, peak });
            const changes = run({ requests, durationMs, initial: 1 }).filter(({ at }) => at >= begin);
            all += changes.length / Math.floor((durationMs - begin) / periodMs);
          }
          expect(all / listSeeds().length).to.be.at.most(2.5);
        });
      });

  it('keeps the replica of a deployment that is asked just before each idle time-out', () => {
    const periodMs = RULES.idleMs - 1_000;
    const requests = Array.from({ length: 12 }, (_, index) => ({ at: index * periodMs, serviceMs: 500 }));
    const changes = run({ requests, durationMs: 12 * periodMs, initial: 1 });
    expect(changes).to.deep.equal([]);
  });

  it('changes twice a period for one request each idle time-out and a minute', () => {
    const periodMs = RULES.idleMs + MINUTE_MS;
    const requests = Array.from({ length: 12 }, (_, index) => ({ at: index * periodMs + 1, serviceMs: 500 }));
    const changes = run({ requests, durationMs: 12 * periodMs, initial: 0 });
    expect(changes.map(({ to }) => to)).to.deep.equal(
      Array.from({ length: 24 }, (_, index) => (index + 1) % 2).slice(0, changes.length),
    );
    expect(changes.length).to.be.at.most(24);
  });
});
