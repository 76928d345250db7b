/** Which pods a Deployment creates and removes next, by Kubernetes' rules for rolling updates. Pure. */

export interface RolloutPod {
  name: string;
  /** Created from the current template. */
  isUpdated: boolean;
  isReady: boolean;
  /** Its deletion cost: lower ones are removed first. */
  cost?: number;
  createdAt: number;
}

export interface RolloutSpec {
  replicas: number;
  maxSurge: number;
  maxUnavailable: number;
  /** All old pods are removed before a new one is created. */
  isRecreated: boolean;
  isPaused: boolean;
}

export interface RolloutStep {
  create: number;
  /** Names. */
  remove: string[];
}

/** `pods`: those not being terminated. */
export function decideRollout(pods: readonly RolloutPod[], spec: RolloutSpec): RolloutStep {
  const updated = pods.filter(({ isUpdated }) => isUpdated);
  const old = pods.filter(({ isUpdated }) => !isUpdated);
  const nameAll = (chosen: readonly RolloutPod[]) => chosen.map(({ name }) => name);
  if (spec.replicas === 0) return { create: 0, remove: nameAll(pods) };
  if (spec.isPaused) return scale(pods, spec.replicas);
  if (spec.isRecreated && old.length > 0) return { create: 0, remove: nameAll(old) };
  if (old.length === 0) return scale(updated, spec.replicas);
  const surge = spec.replicas + spec.maxSurge - pods.length;
  const create = Math.max(0, Math.min(spec.replicas - updated.length, surge));
  return { create, remove: nameAll(chooseOld(updated, old, spec)) };
}

function scale(pods: readonly RolloutPod[], replicas: number): RolloutStep {
  const surplus = [...pods].sort(worstFirst).slice(0, Math.max(0, pods.length - replicas));
  return { create: Math.max(0, replicas - pods.length), remove: surplus.map(({ name }) => name) };
}

/** Not ready ones, then the cheapest, then the youngest. */
const worstFirst = (a: RolloutPod, b: RolloutPod): number =>
  Number(a.isReady) - Number(b.isReady) || (a.cost ?? 0) - (b.cost ?? 0) || b.createdAt - a.createdAt;

/** Old pods that may be removed while enough stay ready; unready ones are free. */
function chooseOld(
  updated: readonly RolloutPod[],
  old: readonly RolloutPod[],
  spec: RolloutSpec,
): RolloutPod[] {
  const minAvailable = spec.replicas - spec.maxUnavailable;
  const unready = updated.filter(({ isReady }) => !isReady).length;
  let mayGo = Math.max(0, updated.length + old.length - minAvailable - unready);
  const broken = old.filter(({ isReady }) => !isReady).slice(0, mayGo);
  const ready = [...updated, ...old].filter(({ isReady }) => isReady).length;
  mayGo = Math.max(0, Math.min(mayGo - broken.length, ready - minAvailable));
  const healthy = old.filter(({ isReady }) => isReady).sort((a, b) => a.createdAt - b.createdAt);
  return [...broken, ...healthy.slice(0, mayGo)];
}

/** `25%` or a number; maxSurge is rounded up, maxUnavailable down. */
export function resolveCount(value: unknown, replicas: number, round: (value: number) => number): number {
  const percent = /^(\d+)%$/.exec(String(value))?.[1];
  return percent ? round((Number(percent) / 100) * replicas) : Number(value);
}
