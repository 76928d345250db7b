/** An autoscaler that knows all requests beforehand: the least that could have been spent for the same waits. */
import {
  percentile,
  type SimulatedRequest,
  type SimulationResult,
  simulate,
} from '../../support/scaling/simulation.ts';

const STEP_MS = 2_000;

export interface Fleet {
  requests: readonly SimulatedRequest[];
  slots: number;
  loadMs: number;
  durationMs: number;
}

/** What a plan costs, and how long the 5 % wait that wait longest. */
export interface Plan {
  gpuSeconds: number;
  p95Ms: number;
}

/** Many plans: how much of the offered load they follow, and how closely. */
export function listClairvoyantPlans(fleet: Fleet): Plan[] {
  const offered = measureOffered(fleet);
  const plans: Plan[] = [];
  for (const smoothMs of [STEP_MS, 20_000, 60_000, 180_000, 600_000])
    for (let headroom = 0.6; headroom < 1.41; headroom += 0.1) {
      const { waits, gpuSeconds } = follow(fleet, makePlan(fleet, offered, { smoothMs, headroom }));
      plans.push({ gpuSeconds, p95Ms: percentile(waits, 0.95) });
    }
  return plans;
}

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
