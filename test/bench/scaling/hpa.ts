/** Kubernetes' HorizontalPodAutoscaler (autoscaling/v2) on an average value of concurrency, with its defaults. */
import type { Autoscaler } from '../../support/scaling/simulation.ts';

const SYNC_MS = 15_000;
const TOLERANCE = 0.1;
const DOWN_STABILIZATION_MS = 300_000;

export function createHPA(
  slots: number,
  { max, utilization }: { max: number; utilization: number },
): Autoscaler {
  const target = slots * utilization;
  const recommended: { at: number; replicas: number }[] = [];
  let last = { at: 0, area: 0 };
  return ({ now, wanted, ready, busyMs, heldMs }) => {
    if (now - last.at < SYNC_MS) return wanted;
    const area = busyMs + heldMs;
    const usage = (area - last.area) / (now - last.at);
    last = { at: now, area };
    const ratio = usage / (target * Math.max(1, ready));
    const desired = Math.abs(ratio - 1) <= TOLERANCE ? wanted : Math.ceil(usage / target);
    recommended.push({ at: now, replicas: desired });
    while (recommended[0]!.at < now - DOWN_STABILIZATION_MS) recommended.shift();
    // It cannot scale to zero: minReplicas is 1 unless an alpha feature is on.
    const held = Math.max(...recommended.map(({ replicas }) => replicas));
    const stabilized = desired > wanted ? desired : Math.min(wanted, held);
    const mostUp = Math.max(wanted + 4, wanted * 2);
    return Math.min(max, mostUp, Math.max(1, stabilized));
  };
}
