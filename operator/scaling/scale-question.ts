/** What the number of replicas is decided from. */
import type { DemandReading } from '../../redis/demand/demand-trend.ts';

/** The rules in effect, from the spec and a schedule. Times in milliseconds. */
export interface ScalingRules {
  min: number;
  max: number;
  /** Slots of demand per replica. */
  target: number;
  /** Limited to what engines run concurrently, less than requested. */
  isEngineFull?: boolean;
  stableMs: number;
  panicMs: number;
  idleMs: number;
  /** The last replica sleeps while idle instead of being removed. */
  sleeps?: boolean;
  /** How long a queued job may wait. */
  targetWaitMs: number;
}

export interface PodCounts {
  /** The Deployment's current value. */
  wanted: number;
  ready: number;
  /** On a node, and not ready yet. */
  starting: number;
  /** On a node, but not ready for longer than a start may take. */
  broken: number;
  /** Held back from all nodes by another controller, such as a queue, which decides for how long. */
  gated: number;
  /** Without a node that fits. */
  unscheduled: number;
  /** How long the oldest of these has been unschedulable; 0 while none is. */
  unschedulableMs: number;
}

/** State carried to the next decision. */
export interface ScaleMemory {
  /** Unix milliseconds since which more replicas are needed than are wanted. */
  lackSince?: number | undefined;
  /** Unix milliseconds since which the load is a burst. */
  burstSince?: number | undefined;
  /** Replicas were already added for this burst. */
  isBurstAnswered?: boolean | undefined;
  /** Unix milliseconds since which fewer replicas would do. */
  surplusSince?: number | undefined;
  /** The cluster lacks capacity: one more pod at a time is tried. */
  isShort?: boolean;
}

export interface ScaleQuestion {
  rules: ScalingRules;
  demand: DemandReading;
  pods: PodCounts;
  /** Measured time from creation to readiness; null while unknown. */
  loadTimeMs: number | null;
  /** What prevents scaling down now, such as a rollout; undefined if nothing does. */
  holdDown?: string | undefined;
  /** Whether this deployment may keep an unschedulable pod, while others compete for capacity. */
  mayProbe: boolean;
  memory: ScaleMemory;
  /** Unix milliseconds. */
  now: number;
}
