/** Knative's pod autoscaler (KPA), as its documentation and `pkg/autoscaler/scaling/autoscaler.go` describe it, with its defaults. */
import { AreaSeries } from '../../../redis/demand/series.ts';
import type { Autoscaler } from '../../support/scaling/simulation.ts';

const STABLE_MS = 60_000;
const PANIC_MS = 6_000;
/** panic-threshold-percentage. */
const PANIC_THRESHOLD = 2;
const MAX_SCALE_UP_RATE = 1_000;
const MAX_SCALE_DOWN_RATE = 2;
const SCALE_TO_ZERO_GRACE_MS = 30_000;

export function createKnativeAutoscaler(
  slots: number,
  { max, utilization }: { max: number; utilization: number },
): Autoscaler {
  const target = slots * utilization;
  const area = new AreaSeries(STABLE_MS);
  let panicSince: number | undefined;
  let maxPanicPods = 0;
  let zeroSince: number | undefined;
  return ({ now, wanted, ready, busyMs, heldMs }) => {
    const total = busyMs + heldMs;
    area.push(now, total);
    const average = (windowMs: number) =>
      (total - (area.areaAt(now - windowMs) ?? 0)) / Math.min(now, windowMs);
    const pods = Math.max(1, ready);
    const clamp = (replicas: number) =>
      Math.min(
        Math.ceil(MAX_SCALE_UP_RATE * pods),
        Math.max(Math.floor(ready / MAX_SCALE_DOWN_RATE), replicas),
      );
    const stable = clamp(Math.ceil(average(STABLE_MS) / target));
    const panic = clamp(Math.ceil(average(PANIC_MS) / target));
    const isOver = panic / pods >= PANIC_THRESHOLD;
    if (isOver) panicSince = now;
    else if (panicSince !== undefined && now - panicSince >= STABLE_MS) {
      panicSince = undefined;
      maxPanicPods = 0;
    }
    let desired = stable;
    if (panicSince !== undefined) {
      maxPanicPods = Math.max(maxPanicPods, stable, panic);
      desired = maxPanicPods;
    }
    desired = Math.min(max, desired);
    if (desired > 0) zeroSince = undefined;
    else zeroSince ??= now;
    return desired === 0 && wanted > 0 && now - zeroSince! < SCALE_TO_ZERO_GRACE_MS ? wanted : desired;
  };
}
