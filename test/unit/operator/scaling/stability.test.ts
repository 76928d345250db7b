/** The decision under complete loads, replayed with a virtual clock and fixed seeds. */
import { expect } from 'chai';
import type { ScalingRules } from '../../../../operator/scaling/scale-question.ts';
import { listSeeds } from '../../../support/random-seeds.ts';
import { createBerthAutoscaler } from '../../../support/scaling/berth-autoscaler.ts';
import { evenLoad, poissonLoad, squareWave } from '../../../support/scaling/loads.ts';
import {
  type Change,
  type SimulatedRequest,
  type SimulationResult,
  simulate,
} from '../../../support/scaling/simulation.ts';

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
  /** Slots of a replica. By default more than the target: requests above that do not wait yet. */
  places?: number;
  /** Further requests wait within the engine, not for a slot. */
  isEngineFull?: boolean;
}

function replay(run: Run): SimulationResult {
  const { requests, durationMs, initial, loadMs = 20_000, isEngineFull } = run;
  const rules = { ...RULES, ...run.rules };
  const scale = createBerthAutoscaler(rules, loadMs, { isEngineFull });
  const slots = run.places ?? rules.target * 4;
  return simulate({ requests, slots, loadMs, initial, durationMs, tickMs: 2_000, scale });
}

const run = (given: Run): Change[] => replay(given).changes;

describe('stability of the scaling decision', () => {
  /** Maximum changes, as documented: in 10 minutes of constant load, per period of regular waves, and per random wave on average. */
  const most = { steady: 0, even: 0, random: 0 };
  after(() => {
    const { steady, even, random } = most;
    console.log(
      `        most changes: ${steady} in 10 min of constant load, ${even} a period of even waves, ${random.toFixed(2)} of random ones`,
    );
  });

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
          most.steady = Math.max(most.steady, settled.length);
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
            most.even = Math.max(most.even, within.length);
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
          const average = all / listSeeds().length;
          most.random = Math.max(most.random, average);
          expect(average).to.be.at.most(2.5);
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

  describe('with engines that are full at a quarter of the target', () => {
    const [places, durationMs] = [RULES.target / 4, 60 * MINUTE_MS];

    it('is as with that for a target', () => {
      for (const replicas of [2, 3, 5])
        for (const seed of listSeeds()) {
          const load = replicas * places * 0.8;
          const concurrency = () => load;
          const requests = poissonLoad({ seed, durationMs, serviceMs: 5_000, concurrency, peak: load });
          const settledOf = ({ changes, gpuSeconds }: SimulationResult) => ({
            changes: changes.filter(({ at }) => at >= 10 * MINUTE_MS),
            gpuSeconds,
          });
          const given = { requests, durationMs, initial: 1, places };
          const learned = settledOf(replay({ ...given, isEngineFull: true }));
          const told = settledOf(replay({ ...given, rules: { target: places } }));
          const context = `${replicas} replicas, seed ${seed}: ${JSON.stringify([learned, told])}`;
          expect(learned.changes.length, context).to.be.at.most(told.changes.length + 2);
          expect(learned.gpuSeconds / told.gpuSeconds, context).to.be.within(0.95, 1.05);
        }
    });

    it('keeps them while the load is even, and lets them go once a single engine runs it', () => {
      const concurrency = (at: number) => (at < durationMs / 2 ? 3 * places * 0.9 : 0.4 * places);
      const requests = evenLoad({ durationMs, serviceMs: 1_000, concurrency });
      const { changes } = replay({ requests, durationMs, initial: 1, places, isEngineFull: true });
      const context = JSON.stringify(changes);
      const middle = changes.filter(({ at }) => at >= 5 * MINUTE_MS && at < durationMs / 2);
      expect(middle, context).to.deep.equal([]);
      expect(changes.findLast(({ at }) => at < durationMs / 2)!.to, context).to.be.within(3, 4);
      expect(changes.at(-1)!.to, context).to.equal(1);
    });
  });
});
