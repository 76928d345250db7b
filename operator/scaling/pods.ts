/** What a deployment's pods mean for its scaling. Pure. */
import type { V1Pod } from '@kubernetes/client-node';
import { toMillis } from '../../kube/time.ts';
import { listAwaited } from '../status/eviction.ts';
import { isGated } from '../status/placement.ts';
import { isReady } from '../status/pod-findings.ts';
import type { PodCounts } from './scale-question.ts';

type Conditions = NonNullable<NonNullable<V1Pod['status']>['conditions']>;

const findCondition = (pod: V1Pod, type: string): Conditions[number] | undefined =>
  pod.status?.conditions?.find((condition) => condition.type === type);

/** Pods that stay: not leaving, and not a remainder of an eviction. */
export const listStaying = (pods: readonly V1Pod[]): V1Pod[] =>
  pods.filter(
    ({ metadata, status }) =>
      metadata?.deletionTimestamp === undefined &&
      status?.phase !== 'Failed' &&
      status?.phase !== 'Succeeded',
  );

/** Unix milliseconds at which pods are looked at, and at which others last drained for them. */
export interface Times {
  awaitedAt: number;
  now: number;
}

/** `startMs`: how long a pod may take to become ready; later it occupies its node uselessly. */
export function countPods(
  staying: readonly V1Pod[],
  { wanted, startMs, ...times }: { wanted: number; startMs: number } & Times,
): PodCounts {
  const counts: PodCounts = {
    wanted,
    ready: 0,
    starting: 0,
    broken: 0,
    gated: 0,
    unscheduled: 0,
    unschedulableMs: 0,
  };
  for (const pod of staying) {
    if (isReady(pod)) counts.ready++;
    else if (isGated(pod)) counts.gated++;
    else if (pod.spec?.nodeName === undefined) {
      counts.unscheduled++;
      counts.unschedulableMs = Math.max(counts.unschedulableMs, unschedulableMs(pod, times));
    } else if (times.now - scheduledAt(pod) > startMs) counts.broken++;
    else counts.starting++;
  }
  return counts;
}

/** The scheduler's refusal; undefined while it has reported none. */
const findRefusal = (pod: V1Pod): Conditions[number] | undefined => {
  const scheduled = findCondition(pod, 'PodScheduled');
  const isWaiting = pod.spec?.nodeName === undefined && !isGated(pod);
  return isWaiting && scheduled?.status === 'False' ? scheduled : undefined;
};

/** Whether it finds no node because others have not drained yet. */
export const isAwaiting = (pod: V1Pod, draining: readonly V1Pod[], now: number): boolean =>
  findRefusal(pod) !== undefined && listAwaited(pod, draining, now).length > 0;

/** How long the scheduler has found no node, of the time since others drained; 0 while it has not reported that. */
export function unschedulableMs(pod: V1Pod, { awaitedAt, now }: Times): number {
  const refusal = findRefusal(pod);
  if (!refusal) return 0;
  const refusedAt = toMillis(refusal.lastTransitionTime ?? pod.metadata?.creationTimestamp);
  return Math.max(0, now - Math.max(refusedAt, awaitedAt));
}

/** Waiting for capacity is not part of the load time. */
const scheduledAt = (pod: V1Pod): number => {
  const scheduled = findCondition(pod, 'PodScheduled');
  const at = scheduled?.status === 'True' ? toMillis(scheduled.lastTransitionTime) : 0;
  return Math.max(at, toMillis(pod.metadata?.creationTimestamp));
};

/** From a pod's scheduling to its readiness, in milliseconds; undefined while it is not ready. */
export function measureLoad(pod: V1Pod): number | undefined {
  if (!isReady(pod)) return undefined;
  const ready = toMillis(findCondition(pod, 'Ready')?.lastTransitionTime);
  return ready === 0 ? undefined : Math.max(0, ready - scheduledAt(pod));
}
