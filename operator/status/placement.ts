/** Why a pod has no node: a queue holds it back, none fits, or others have to drain first. Pure. */
import type { V1Pod } from '@kubernetes/client-node';
import { KUEUE } from '../../api/names.ts';
import { toMillis } from '../../kube/time.ts';
import { listAwaited } from './eviction.ts';
import { describeRefusal, type WantedGPUs } from './scheduling.ts';

export interface Finding {
  reason: string;
  message: string;
}

export interface Unschedulable extends Finding {
  /** The deployment's GPUs are missing. */
  gpus: boolean;
  /** Unix milliseconds by which other deployments' pods are gone that drain for it. */
  awaited?: number[];
}

/** What a pod is inspected with. */
export interface InspectedDeployment extends WantedGPUs {
  /** Why Kueue holds its pods back, in Kueue's words; undefined if unknown. */
  quotaReason?: string | undefined;
  /** Other deployments' pods that drain for others. */
  draining?: readonly V1Pod[];
  /** Unix milliseconds. */
  now: number;
}

/** Kueue holds the pods back. */
export const WAITING_FOR_QUOTA = 'WaitingForQuota';
/** Another controller than Kueue holds them back. */
const SCHEDULING_GATED = 'SchedulingGated';
/** Held back, for as long as that takes. */
export const GATED_REASONS: readonly string[] = [WAITING_FOR_QUOTA, SCHEDULING_GATED];
/** No node has enough of them free. */
export const INSUFFICIENT_GPUS = 'InsufficientGPUs';

/** Held back by another controller, such as a queue: no node is looked for. The pod's condition may tell so later than its spec. */
export const isGated = (pod: V1Pod): boolean => (pod.spec?.schedulingGates ?? []).length > 0;

/** Held back by Kueue. */
export const isQueued = (pod: V1Pod): boolean =>
  (pod.spec?.schedulingGates ?? []).some(({ name }) => name.startsWith(KUEUE.prefix));

function describeGates(pod: V1Pod, quotaReason: string | undefined): Finding {
  const gates = pod.spec!.schedulingGates!.map(({ name }) => name).join(', ');
  if (isQueued(pod)) {
    const queue = pod.metadata?.labels?.[KUEUE.queue];
    const why = quotaReason ?? `scheduling gate ${gates}`;
    return {
      reason: WAITING_FOR_QUOTA,
      message: `waiting for quota${queue ? ` of queue ${queue}` : ''}: ${why}`,
    };
  }
  const message = `waiting for admission: the controller of the scheduling gate ${gates} has not released the pod`;
  return { reason: SCHEDULING_GATED, message };
}

export function findUnschedulable(
  pod: V1Pod,
  { quotaReason, draining = [], now, ...wanted }: InspectedDeployment,
): Unschedulable | undefined {
  if (pod.spec?.nodeName !== undefined) return undefined;
  if (isGated(pod)) return { gpus: false, ...describeGates(pod, quotaReason) };
  const scheduled = (pod.status?.conditions ?? []).find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status !== 'False') return undefined;
  const refusal = describeRefusal(scheduled.message ?? 'no node fits the pod', wanted);
  const { gpus, message } = refusal;
  const reason = gpus ? INSUFFICIENT_GPUS : (scheduled.reason ?? 'Unschedulable');
  const awaited = listAwaited(pod, draining, now).map(({ metadata }) =>
    toMillis(metadata?.deletionTimestamp),
  );
  return { gpus, reason: refusal.reason ?? reason, message, awaited };
}
