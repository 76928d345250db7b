/** Berth's decision as an autoscaler in the simulation, with a sample per tick as the operator reads it from Redis. */
import { decideScale } from '../../../operator/scaling/decision.ts';
import type { ScaleMemory, ScalingRules } from '../../../operator/scaling/scale-question.ts';
import type { DeploymentSample } from '../../../redis/demand/demand.ts';
import { DemandTrend } from '../../../redis/demand/demand-trend.ts';
import type { Autoscaler, Observation } from './simulation.ts';

/** Wall-clock time of the start of a simulation. */
const EPOCH = 1_800_000_000_000;

/** `isEngineFull`: requests wait within the engines, which run fewer than the target. */
export function createBerthAutoscaler(
  rules: ScalingRules,
  loadTimeMs: number,
  { isEngineFull = false }: { isEngineFull?: boolean } = {},
): Autoscaler {
  const trend = new DemandTrend({
    stableMs: rules.stableMs,
    panicMs: rules.panicMs,
    retentionMs: Math.max(rules.stableMs, loadTimeMs),
  });
  let memory: ScaleMemory = {};
  return (seen) => {
    const at = EPOCH + seen.now;
    trend.add({
      replicas: listReplicas(seen, isEngineFull),
      fronts: [
        {
          front: 'f',
          boot: 'b',
          held: seen.ready === 0 ? seen.waiting : 0,
          heldMs: seen.heldMs,
          refused: 0,
          wantedAt: 0,
          at,
        },
      ],
      jobs: { queued: 0, running: 0, paceMs: null },
      at,
    });
    const decision = decideScale({
      rules,
      demand: trend,
      pods: {
        wanted: seen.wanted,
        ready: seen.ready,
        starting: seen.starting,
        broken: 0,
        gated: 0,
        unscheduled: 0,
        unschedulableMs: 0,
      },
      loadTimeMs,
      mayProbe: true,
      memory,
      now: at,
    });
    memory = decision.memory;
    return decision.wanted;
  };
}

/** One replica with the whole load; or, if engines queue, all replicas with equal shares of it. */
function listReplicas(seen: Observation, isEngineFull: boolean): DeploymentSample['replicas'] {
  const at = EPOCH + seen.now;
  const rest = {
    boot: 'b',
    arrivals: 0,
    busyMs: 0,
    limit: null,
    ready: true,
    draining: false,
    activeAt: 0,
    at,
  };
  const { busyMs, arrivals, lastActive } = seen;
  const all = { ...rest, pod: 'p0', inflight: seen.inflight, busyMs, arrivals, activeAt: EPOCH + lastActive };
  if (!isEngineFull || seen.ready === 0) return [all];
  return Array.from({ length: seen.ready }, (_, index) => {
    const partOf = (total: number) => Math.floor((total + index) / seen.ready);
    const [running, waiting] = [partOf(seen.inflight), partOf(seen.waiting)];
    const own = index === 0 ? all : { ...rest, pod: `p${index}` };
    return { ...own, inflight: running + waiting, waiting };
  });
}
