/** An autoscaler that knows all requests in advance: the lowest possible cost for the same waits. */
import {
  percentile,
  type SimulatedRequest,
  type SimulationResult,
  simulate,
} from '../../support/scaling/simulation.ts';

const STEP_MS = 2_000;
/** Windows over which a plan averages the offered load. */
const SMOOTH_MS = [STEP_MS, 6_000, 12_000, 20_000, 40_000, 60_000, 120_000, 180_000, 300_000, 600_000];
/** Capacity relative to that, in percent. */
const [MIN_ROOM, MAX_ROOM] = [50, 150];

export interface Fleet {
  requests: readonly SimulatedRequest[];
  slots: number;
  loadMs: number;
  durationMs: number;
}

/** The cost of a plan, and its p95 wait. */
export interface Plan {
  gpuSeconds: number;
  p95Ms: number;
}

export interface ClairvoyantPlan extends Plan {
  smoothMs: number;
  headroom: number;
}

/**
 * For each p95 wait the plans that just keep it, by how closely they follow the offered load: the best that are known, not the best
 * that there are.
 */
export function listClairvoyantPlans(fleet: Fleet, waitsMs: readonly number[]): ClairvoyantPlan[] {
  const offered = measureOffered(fleet);
  return SMOOTH_MS.flatMap((smoothMs) => {
    const tried = new Map<number, ClairvoyantPlan>();
    const tryRoom = (hundredths: number): ClairvoyantPlan => {
      const headroom = hundredths / 100;
      const known = tried.get(hundredths);
      if (known) return known;
      const { waits, gpuSeconds } = follow(fleet, makePlan(fleet, offered, { smoothMs, headroom }));
      const plan = { smoothMs, headroom, gpuSeconds, p95Ms: percentile(waits, 0.95) };
      tried.set(hundredths, plan);
      return plan;
    };
    for (const waitMs of waitsMs) {
      let [below, kept] = [MIN_ROOM, MAX_ROOM];
      while (kept - below > 1) {
        const middle = Math.floor((below + kept) / 2);
        if (tryRoom(middle).p95Ms <= waitMs) kept = middle;
        else below = middle;
      }
      tryRoom(kept);
    }
    return [...tried.values()];
  });
}

/** The whole run of one of them. */
export const replayPlan = (fleet: Fleet, plan: ClairvoyantPlan): SimulationResult =>
  follow(fleet, makePlan(fleet, measureOffered(fleet), plan));

/** The cheapest whose p95 wait is at most `p95Ms`. */
export function findCheapest<P extends Plan>(plans: readonly P[], p95Ms: number): P {
  const [cheapest] = plans.filter((plan) => plan.p95Ms <= p95Ms).sort((a, b) => a.gpuSeconds - b.gpuSeconds);
  if (!cheapest) throw new Error(`none keeps the p95 wait below ${p95Ms} ms`);
  return cheapest;
}

/** Requests in service at each step, if nobody ever waited. */
function measureOffered({ requests, durationMs }: Fleet): number[] {
  const offered = new Array<number>(Math.ceil(durationMs / STEP_MS) + 1).fill(0);
  for (const { at, serviceMs } of requests)
    for (
      let step = Math.floor(at / STEP_MS);
      step * STEP_MS < at + serviceMs && step < offered.length;
      step++
    ) {
      const from = Math.max(at, step * STEP_MS);
      const to = Math.min(at + serviceMs, (step + 1) * STEP_MS);
      offered[step]! += (to - from) / STEP_MS;
    }
  return offered;
}

/** Replicas wanted at each step: started a load time early, and kept through gaps that a start would take. */
function makePlan(
  { slots, loadMs }: Fleet,
  offered: readonly number[],
  { smoothMs, headroom }: { smoothMs: number; headroom: number },
): number[] {
  const reach = Math.floor(smoothMs / STEP_MS / 2);
  const sums = [0];
  for (const value of offered) sums.push(sums.at(-1)! + value);
  const needed = offered.map((_, step) => {
    const [from, to] = [Math.max(0, step - reach), Math.min(offered.length, step + reach + 1)];
    return Math.ceil(((sums[to]! - sums[from]!) / (to - from) / slots) * headroom - 1e-9);
  });
  const ahead = Math.ceil(loadMs / STEP_MS) + 1;
  return needed.map((_, step) => Math.max(...needed.slice(step, step + ahead + 1)));
}

const follow = (fleet: Fleet, plan: readonly number[]): SimulationResult =>
  simulate({
    ...fleet,
    initial: plan[0]!,
    tickMs: STEP_MS,
    scale: ({ now }) => plan[Math.min(plan.length - 1, Math.round(now / STEP_MS))]!,
  });
