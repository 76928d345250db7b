/** Berth's decision as an autoscaler of the simulation: a sample each tick, as the operator reads it from Redis. */
import { decideScale, type ScaleMemory, type ScalingRules } from '../../../operator/scaling/decision.ts';
import { DemandTrend } from '../../../redis/demand/demand-trend.ts';
import type { Autoscaler } from './simulation.ts';

/** Wall-clock time at which a simulation begins. */
const EPOCH = 1_800_000_000_000;

export function createBerthAutoscaler(rules: ScalingRules, loadTimeMs: number): Autoscaler {
  const trend = new DemandTrend({
    stableMs: rules.stableMs,
    panicMs: rules.panicMs,
    retentionMs: Math.max(rules.stableMs, loadTimeMs),
  });
  let memory: ScaleMemory = {};
  return (seen) => {
    const at = EPOCH + seen.now;
    const common = { boot: 'b', inflight: seen.inflight, limit: null, ready: true, draining: false, at };
    trend.add({
      replicas: [
        {
          ...common,
          pod: 'all',
          busyMs: seen.busyMs,
          arrivals: seen.arrivals,
          activeAt: EPOCH + seen.lastActive,
        },
      ],
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
