/** Pods that leave for others: evicted by Kueue, or preempted by the scheduler. Their own conditions alone say why. Pure. */
import type { V1Pod } from '@kubernetes/client-node';
import { KUEUE } from '../../api/names.ts';
import { toMillis } from '../../kube/time.ts';

export interface Eviction {
  reason: 'Preempted' | 'Evicted';
  /** In the words of who evicts. */
  message: string;
  isByKueue: boolean;
}

const BY_KUEUE = 'WorkloadEvictedDueTo';
const BY_SCHEDULER = 'PreemptionByScheduler';
/** Kueue's word. */
const UNKNOWN = 'UNKNOWN';

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

/** Evicted, and its GPUs are not free yet. */
export const isDrainingForOthers = (pod: Pick<V1Pod, 'metadata' | 'spec' | 'status'>): boolean =>
  pod.metadata?.deletionTimestamp !== undefined &&
  pod.spec?.nodeName !== undefined &&
  pod.status?.phase !== 'Failed' &&
  pod.status?.phase !== 'Succeeded' &&
  readEviction(pod) !== undefined;

/** After the time by which a pod should be gone. One that is still there by then is stuck, as on a lost node. */
const LATE_MS = 60_000;

/** `goneBy`: Unix milliseconds. */
export const isLate = (goneBy: number, now: number): boolean => goneBy + LATE_MS < now;

export const leavesInTime = ({ metadata }: V1Pod, now: number): boolean =>
  metadata?.deletionTimestamp !== undefined && !isLate(toMillis(metadata.deletionTimestamp), now);

/**
 * Those of the `draining` pods that make room for this one. Kueue gives the quota of an evicted pod to another one at once, whose GPUs
 * are then missing until the first has drained.
 */
export const listAwaited = (pod: V1Pod, draining: readonly V1Pod[], now: number): V1Pod[] =>
  draining.filter((other) => leavesInTime(other, now) && makesRoom(other, pod));

function makesRoom(other: V1Pod, { metadata, status }: V1Pod): boolean {
  const eviction = readEviction(other);
  if (!eviction?.isByKueue)
    return status?.nominatedNodeName !== undefined && status.nominatedNodeName === other.spec?.nodeName;
  // Where nobody is named, any pod may have got the quota.
  const preemptor = /JobUID: ([^,)\s]+)/.exec(eviction.message)?.[1] ?? UNKNOWN;
  const isQueued = metadata?.labels?.[KUEUE.queue] !== undefined;
  return isQueued && (preemptor === UNKNOWN || preemptor === metadata?.uid);
}
