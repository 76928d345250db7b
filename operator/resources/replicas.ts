/** How many pods a spec wants now, and how long each may take to leave. */
import type { ModelDeploymentSpec } from '../../api/model-deployment.ts';
import { parseDuration } from '../../api/quantity.ts';

/** With `scaling`: those to begin with, before the autoscaler decides. */
export function decideReplicas({ paused, replicas, scaling }: ModelDeploymentSpec): number {
  if (paused) return 0;
  return scaling ? scaling.min : (replicas ?? 1);
}

/** The most that it may have at a time. */
export const maxReplicas = ({ replicas, scaling }: ModelDeploymentSpec): number =>
  scaling ? Math.max(scaling.max, ...scaling.schedules.map(({ max = 0 }) => max)) : (replicas ?? 1);

const MINUTE_MS = 60_000;
const DRAIN_MS = {
  LLM: 3,
  Embedding: 3,
  Rerank: 3,
  Image: 5,
  Video: 35,
  Transcription: 3,
  Speech: 3,
} as const;
/** After the drain the engine and then the gateway end. */
const ENDING_MS = 30_000;

export interface Grace {
  /** Longest wait for work in flight. */
  drainMs: number;
  /** Longest life of a pod after its deletion. */
  graceMs: number;
}

export function decideGrace({ kind, rollout }: Pick<ModelDeploymentSpec, 'kind' | 'rollout'>): Grace {
  const drainMs = rollout.drainTimeout ? parseDuration(rollout.drainTimeout) : DRAIN_MS[kind] * MINUTE_MS;
  return { drainMs, graceMs: drainMs + ENDING_MS };
}

export const toSeconds = (milliseconds: number): number => Math.ceil(milliseconds / 1000);
