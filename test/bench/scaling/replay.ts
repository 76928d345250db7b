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
import { type Fleet, findCheapest, listClairvoyantPlans, type Plan } from './clairvoyant.ts';
import { createHPA, HPA_UTILIZATION } from './hpa.ts';
import { createKnativeAutoscaler, KNATIVE_UTILIZATION } from './knative.ts';
import { plotRuns } from './plot.ts';

const HOUR_MS = 3_600_000;
const SEED = 20_261_123;
const [SLOTS, MAX] = [8, 12];
const LOAD_MS = 60_000;
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

/** p95 waits at which autoscalers are compared, each with the headroom that meets it for least. */
const WAITS_MS = [1_000, 2_000, 5_000];
/** Of a replica's slots: the knob that all of them have. */
const UTILIZATIONS = Array.from({ length: 21 }, (_, index) => 1 - index * 0.02);

const AUTOSCALERS: { name: string; utilization: number; create: (utilization: number) => Autoscaler }[] = [
  {
    name: 'Berth',
    utilization: 1,
    create: (utilization) => createBerthAutoscaler({ ...RULES, target: SLOTS * utilization }, LOAD_MS),
  },
  {
    name: "Knative's algorithm",
    utilization: KNATIVE_UTILIZATION,
    create: (utilization) => createKnativeAutoscaler(SLOTS, { max: MAX, utilization }),
  },
  {
    name: 'an HPA',
    utilization: HPA_UTILIZATION,
    create: (utilization) => createHPA(SLOTS, { max: MAX, utilization }),
  },
];

export interface Run extends Plan {
  name: string;
  utilization: number;
  changes: number;
}

export interface ReplayFigures {
  /** As each is by default. */
  defaults: Run[];
  /** Tuned to the same p95 wait, beside what one that knew it all would have spent. */
  tuned: { waitMs: number; runs: Run[]; clairvoyantGPUSeconds: number }[];
}

export function measureScaling(): ReplayFigures {
  const fleet = makeFleet();
  const results = AUTOSCALERS.map(({ name, utilization, create }) => ({
    name,
    utilization,
    result: run(fleet, create(utilization)),
  }));
  mkdirSync(join(PLOT, '..'), { recursive: true });
  writeFileSync(
    PLOT,
    plotRuns(
      results.map(({ name, result: { points } }) => ({ name, points })),
      SLOTS,
    ),
  );
  const plans = listClairvoyantPlans(fleet);
  const tried = AUTOSCALERS.map(({ name, create }) =>
    UTILIZATIONS.map((utilization) => describeRun(name, utilization, run(fleet, create(utilization)))),
  );
  return {
    defaults: results.map(({ name, utilization, result }) => describeRun(name, utilization, result)),
    tuned: WAITS_MS.map((waitMs) => ({
      waitMs,
      runs: tried.map((runs) => findCheapest(runs, waitMs)),
      clairvoyantGPUSeconds: findCheapest(plans, waitMs).gpuSeconds,
    })),
  };
}

const run = (fleet: Fleet, scale: Autoscaler): SimulationResult =>
  simulate({ ...fleet, initial: 0, tickMs: 2_000, scale });

const describeRun = (
  name: string,
  utilization: number,
  { waits, gpuSeconds, changes }: SimulationResult,
): Run => ({ name, utilization, gpuSeconds, p95Ms: percentile(waits, 0.95), changes: changes.length });

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
  return { requests, slots: SLOTS, loadMs: LOAD_MS, durationMs };
}

export function formatScaling({ defaults, tuned }: ReplayFigures): string {
  const format = (
    { name, utilization, gpuSeconds, p95Ms, changes }: Run,
    waitMs: number | null,
    clairvoyant: number | null,
  ) => [
    name,
    waitMs === null ? 'its default' : `≤ ${waitMs / 1_000} s`,
    utilization.toFixed(2),
    (gpuSeconds / 3_600).toFixed(1),
    clairvoyant === null ? '' : (gpuSeconds / clairvoyant).toFixed(2),
    (p95Ms / 1_000).toFixed(1),
    String(changes),
  ];
  return formatRows([
    [
      'a bursty day',
      'tuned to a p95 wait',
      'utilization',
      'GPU-hours',
      'of clairvoyant',
      'p95 wait, s',
      'changes',
    ],
    ...defaults.map((each) => format(each, null, null)),
    ...tuned.flatMap(({ waitMs, runs, clairvoyantGPUSeconds }) =>
      runs.map((each) => format(each, waitMs, clairvoyantGPUSeconds)),
    ),
  ]);
}

export const listScalingGoals = ({ tuned }: ReplayFigures): Goal[] =>
  tuned.flatMap(({ waitMs, runs: [berth, ...others], clairvoyantGPUSeconds }) => {
    const at = `at a p95 wait of ${waitMs / 1_000} s`;
    return [
      atMost(`GPU-seconds of a clairvoyant ${at}`, berth!.gpuSeconds / clairvoyantGPUSeconds, 1.3),
      ...others.map(({ name, gpuSeconds }) =>
        atMost(`GPU-seconds of ${name} ${at}`, berth!.gpuSeconds / gpuSeconds, 1),
      ),
    ];
  });
