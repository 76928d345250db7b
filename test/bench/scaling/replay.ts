/** One bursty day on one deployment, replayed under Berth's autoscaler, Knative's and an HPA, beside one that knew it all. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ScalingRules } from '../../../operator/scaling/decision.ts';
import { seedRandom } from '../../support/random-seeds.ts';
import { createBerthAutoscaler } from '../../support/scaling/berth-autoscaler.ts';
import { poissonLoad } from '../../support/scaling/loads.ts';
import {
  type Autoscaler,
  percentile,
  type SimulationResult,
  simulate,
} from '../../support/scaling/simulation.ts';
import { atMost, formatRows, type Goal } from '../report.ts';
import { type Fleet, planClairvoyant } from './clairvoyant.ts';
import { createHPA } from './hpa.ts';
import { createKnativeAutoscaler } from './knative.ts';
import { plotRuns } from './plot.ts';

const HOUR_MS = 3_600_000;
const SEED = 20_261_123;
const [SLOTS, MAX] = [8, 12];
export const RULES: ScalingRules = {
  min: 0,
  max: MAX,
  target: SLOTS,
  stableMs: 60_000,
  panicMs: 6_000,
  idleMs: 600_000,
  targetWaitMs: 60_000,
};
export const PLOT = join(import.meta.dirname, '../../../.berth/bench/scaling.svg');

export interface ReplayFigures {
  name: string;
  gpuSeconds: number;
  p95Ms: number;
  changes: number;
  /** Of one that knew it all, with the same p95 wait. */
  clairvoyantGPUSeconds: number;
}

export function measureScaling(): ReplayFigures[] {
  const fleet = makeFleet();
  const runs: { name: string; result: SimulationResult }[] = [
    { name: 'Berth', result: run(fleet, createBerthAutoscaler(RULES, fleet.loadMs)) },
    { name: "Knative's algorithm", result: run(fleet, createKnativeAutoscaler(SLOTS, { max: MAX })) },
    { name: 'an HPA', result: run(fleet, createHPA(SLOTS, { max: MAX })) },
  ];
  mkdirSync(join(PLOT, '..'), { recursive: true });
  writeFileSync(
    PLOT,
    plotRuns(
      runs.map(({ name, result: { points } }) => ({ name, points })),
      SLOTS,
    ),
  );
  return runs.map(({ name, result }) => {
    const p95Ms = percentile(result.waits, 0.95);
    const { gpuSeconds, changes } = result;
    const clairvoyant = planClairvoyant(fleet, p95Ms);
    return {
      name,
      gpuSeconds,
      p95Ms,
      changes: changes.length,
      clairvoyantGPUSeconds: clairvoyant.gpuSeconds,
    };
  });
}

const run = (fleet: Fleet, scale: Autoscaler): SimulationResult =>
  simulate({ ...fleet, initial: 0, tickMs: 2_000, scale });

/** 24 hours: a night of almost nothing, a working day with its peaks, and bursts of minutes at random. */
export function makeFleet(): Fleet {
  const random = seedRandom(SEED);
  const durationMs = 24 * HOUR_MS;
  const bursts = Array.from({ length: 40 }, () => ({
    from: (6 + 16 * random()) * HOUR_MS,
    ms: (2 + 13 * random()) * 60_000,
    load: SLOTS * (0.5 + 2.5 * random()),
  }));
  const day = (at: number) => {
    const hour = at / HOUR_MS;
    if (hour < 6 || hour > 22) return hour > 2 && hour < 5 ? 0 : 0.3;
    return SLOTS * (0.3 + 3.2 * Math.sin(((hour - 6) / 16) * Math.PI) ** 2);
  };
  const concurrency = (at: number) =>
    day(at) + bursts.reduce((sum, { from, ms, load }) => sum + (at >= from && at < from + ms ? load : 0), 0);
  const requests = poissonLoad({ seed: SEED, durationMs, serviceMs: 5_000, concurrency, peak: SLOTS * 14 });
  return { requests, slots: SLOTS, loadMs: 60_000, durationMs };
}

export function formatScaling(figures: readonly ReplayFigures[]): string {
  return formatRows([
    ['a bursty day', 'GPU-hours', 'of clairvoyant', 'p95 wait, s', 'changes'],
    ...figures.map(({ name, gpuSeconds, clairvoyantGPUSeconds, p95Ms, changes }) => [
      name,
      (gpuSeconds / 3_600).toFixed(1),
      (gpuSeconds / clairvoyantGPUSeconds).toFixed(2),
      (p95Ms / 1_000).toFixed(1),
      String(changes),
    ]),
  ]);
}

export function listScalingGoals([berth, ...others]: readonly ReplayFigures[]): Goal[] {
  return [
    atMost(
      'GPU-seconds of a clairvoyant at the same p95 wait',
      berth!.gpuSeconds / berth!.clairvoyantGPUSeconds,
      1.3,
    ),
    ...others.map(({ name, gpuSeconds }) =>
      atMost(`GPU-seconds of ${name}`, berth!.gpuSeconds / gpuSeconds, 1),
    ),
  ];
}
