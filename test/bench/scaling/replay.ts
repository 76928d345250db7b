/** Synthetic bursty days of one deployment under Berth's autoscaler, Knative's and an HPA, beside a clairvoyant one. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ScalingRules } from '../../../operator/scaling/scale-question.ts';
import { createBerthAutoscaler } from '../../support/scaling/berth-autoscaler.ts';
import {
  type Autoscaler,
  percentile,
  type SimulationResult,
  simulate,
} from '../../support/scaling/simulation.ts';
import { atMost, formatRows, type Goal } from '../report.ts';
import {
  type ClairvoyantPlan,
  type Fleet,
  findCheapest,
  listClairvoyantPlans,
  type Plan,
  replayPlan,
} from './clairvoyant.ts';
import { LOAD_MS, MAX, makeDay, SLOTS } from './days.ts';
import { createHPA } from './hpa.ts';
import { createKnativeAutoscaler } from './knative.ts';
import { plotRuns } from './plot.ts';

/** Not used to choose any parameter of the autoscaler. */
const SEEDS = [1, 2, 3, 4, 5];
const RULES: ScalingRules = {
  min: 0,
  max: MAX,
  target: SLOTS,
  stableMs: 60_000,
  panicMs: 6_000,
  idleMs: 600_000,
  targetWaitMs: 60_000,
};
const PLOT = join(import.meta.dirname, '../../../docs/scaling.svg');
const PLOTTED_WAIT_MS = 2_000;

/** p95 waits at which autoscalers are compared, each with the cheapest headroom that meets it. */
const WAITS_MS = [1_000, 2_000, 5_000];
/** Shares of a replica's slots: the knob that all of them have. */
const UTILIZATIONS = Array.from({ length: 46 }, (_, index) => 1 - index * 0.01);

interface Contender {
  name: string;
  create: (utilization: number) => Autoscaler;
}

const CONTENDERS: Contender[] = [
  {
    name: 'Berth',
    create: (utilization) => createBerthAutoscaler({ ...RULES, target: SLOTS * utilization }, LOAD_MS),
  },
  {
    name: "Knative's algorithm",
    create: (utilization) => createKnativeAutoscaler(SLOTS, { max: MAX, utilization }),
  },
  { name: 'an HPA', create: (utilization) => createHPA(SLOTS, { max: MAX, utilization }) },
];

interface Run extends Plan {
  utilization: number;
  changes: number;
}

/** The cost of an autoscaler on each day relative to the clairvoyant one, at the same p95 wait. */
export interface Comparison {
  name: string;
  waitMs: number;
  /** By day. */
  ratios: number[];
  changes: number[];
  utilizations: number[];
}

/** Draws the first of all days. */
export function measureScaling(seeds: readonly number[] = SEEDS): Comparison[] {
  const days = seeds.map((seed, index) => {
    console.log(`  day ${index + 1} of ${seeds.length}…`);
    return replayDay(makeDay(seed), seed === SEEDS[0] ? PLOT : null);
  });
  return WAITS_MS.flatMap((waitMs) =>
    CONTENDERS.map(({ name }, index) => {
      const tuned = days.map(({ tried, plans }) => ({
        run: findCheapest(tried[index]!, waitMs),
        least: findCheapest(plans, waitMs).gpuSeconds,
      }));
      return {
        name,
        waitMs,
        ratios: tuned.map(({ run, least }) => run.gpuSeconds / least),
        changes: tuned.map(({ run }) => run.changes),
        utilizations: tuned.map(({ run }) => run.utilization),
      };
    }),
  );
}

interface Day {
  /** By autoscaler, then by utilization. */
  tried: Run[][];
  plans: ClairvoyantPlan[];
}

function replayDay(fleet: Fleet, plot: string | null): Day {
  const tried = CONTENDERS.map(({ create }) =>
    UTILIZATIONS.map((utilization) => {
      const { waits, gpuSeconds, changes } = replay(fleet, create(utilization));
      return { utilization, gpuSeconds, p95Ms: percentile(waits, 0.95), changes: changes.length };
    }),
  );
  const day = { tried, plans: listClairvoyantPlans(fleet, WAITS_MS) };
  if (plot) writeFileSync(plot, plotDay(fleet, day));
  return day;
}

const replay = (fleet: Fleet, scale: Autoscaler): SimulationResult =>
  simulate({ ...fleet, initial: 0, tickMs: 2_000, scale });

/** All of them as they keep the same p95 wait. */
function plotDay(fleet: Fleet, { tried, plans }: Day): string {
  const least = findCheapest(plans, PLOTTED_WAIT_MS);
  const describe = (name: string, { gpuSeconds }: Plan) =>
    `${name}: ${(gpuSeconds / 3_600).toFixed(1)} GPU-hours (${(gpuSeconds / least.gpuSeconds).toFixed(2)})`;
  const runs = CONTENDERS.map(({ name, create }, index) => {
    const best = findCheapest(tried[index]!, PLOTTED_WAIT_MS);
    return { name: describe(name, best), points: replay(fleet, create(best.utilization)).points };
  });
  const known = {
    name: describe('one that knows all requests beforehand', least),
    points: replayPlan(fleet, least).points,
  };
  return plotRuns([...runs, known], SLOTS);
}

export function formatScaling(comparisons: readonly Comparison[]): string {
  const format = ({ name, waitMs, ratios, changes, utilizations }: Comparison) => [
    name,
    `≤ ${waitMs / 1_000} s`,
    mean(ratios).toFixed(3),
    formatRange(ratios, 3),
    formatRange(utilizations, 2),
    mean(changes).toFixed(0),
  ];
  return formatRows([
    [
      `${comparisons[0]?.ratios.length} bursty days`,
      'tuned to a p95 wait',
      'GPU-seconds of clairvoyant, mean',
      'spread',
      'utilization',
      'changes a day',
    ],
    ...comparisons.map(format),
  ]);
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

const formatRange = (values: readonly number[], digits: number): string =>
  `${Math.min(...values).toFixed(digits)} to ${Math.max(...values).toFixed(digits)}`;

export const listScalingGoals = (comparisons: readonly Comparison[]): Goal[] =>
  WAITS_MS.flatMap((waitMs) => {
    const [berth, ...others] = comparisons.filter((each) => each.waitMs === waitMs);
    const at = `at a p95 wait of ${waitMs / 1_000} s`;
    return [
      atMost(`GPU-seconds of a clairvoyant ${at}, mean`, mean(berth!.ratios), 1.3),
      ...others.map(({ name, ratios }) =>
        atMost(`GPU-seconds of ${name} ${at}, mean`, mean(berth!.ratios) / mean(ratios), 1),
      ),
    ];
  });
