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

/** Of many plans the cheapest whose p95 wait is at most `p95Ms`. */
export function planClairvoyant(fleet: Fleet, p95Ms: number): SimulationResult {
  const offered = measureOffered(fleet);
  let best: SimulationResult | undefined;
  for (const smoothMs of [STEP_MS, 20_000, 60_000, 180_000, 600_000])
    for (let headroom = 0.6; headroom < 1.41; headroom += 0.1) {
      const result = follow(fleet, makePlan(fleet, offered, { smoothMs, headroom }));
      const isAllowed = percentile(result.waits, 0.95) <= p95Ms;
      if (isAllowed && (best === undefined || result.gpuSeconds < best.gpuSeconds)) best = result;
    }
  if (!best) throw new Error(`no plan keeps the p95 wait below ${p95Ms} ms`);
  return best;
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
