/** Pods that leave for others: evicted by Kueue, or preempted by the scheduler. Their own conditions alone say why. Pure. */
import type { V1Pod } from '@kubernetes/client-node';
import { KUEUE } from '../../api/names.ts';

export interface Eviction {
  reason: 'Preempted' | 'Evicted';
  /** In the words of who evicts. */
  message: string;
  isByKueue: boolean;
}

const BY_KUEUE = 'WorkloadEvictedDueTo';
const BY_SCHEDULER = 'PreemptionByScheduler';

/** Undefined: the pod stays, or leaves for another reason. */
export function readEviction({ status }: Pick<V1Pod, 'status'>): Eviction | undefined {
  for (const { type, status: isTrue, reason = '', message = '' } of status?.conditions ?? []) {
    if (isTrue !== 'True') continue;
    if (type === 'TerminationTarget' && reason.startsWith(BY_KUEUE)) {
      const isPreempted = reason === `${BY_KUEUE}Preempted`;
      return { reason: isPreempted ? 'Preempted' : 'Evicted', message: message || reason, isByKueue: true };
    }
    if (type === 'DisruptionTarget' && reason === BY_SCHEDULER)
      return { reason: 'Preempted', message, isByKueue: false };
  }
  return undefined;
}

/** Evicted, and not gone yet. */
export const isDrainingForOthers = (pod: Pick<V1Pod, 'metadata' | 'status'>): boolean =>
  pod.metadata?.deletionTimestamp !== undefined && readEviction(pod) !== undefined;

/**
 * Those of the `draining` pods that make room for this one. Kueue gives the quota of an evicted pod to another one at once, whose GPUs
 * are then missing until the first has drained.
 */
export const listAwaited = (pod: V1Pod, draining: readonly V1Pod[]): V1Pod[] =>
  draining.filter((other) =>
    readEviction(other)?.isByKueue
      ? pod.metadata?.labels?.[KUEUE.queue] !== undefined
      : pod.status?.nominatedNodeName !== undefined && pod.status.nominatedNodeName === other.spec?.nodeName,
  );
