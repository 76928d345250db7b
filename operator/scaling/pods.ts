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

/** When pods are looked at, and beside which others. */
export interface Surroundings {
  /** Pods of all deployments that drain for others. */
  draining: readonly V1Pod[];
  /** Unix milliseconds. */
  now: number;
}

/** `startMs`: how long a pod may take to become ready; later it occupies its node uselessly. */
export function countPods(
  staying: readonly V1Pod[],
  { wanted, startMs, ...seen }: { wanted: number; startMs: number } & Surroundings,
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
      counts.unschedulableMs = Math.max(counts.unschedulableMs, unschedulableMs(pod, seen));
    } else if (seen.now - scheduledAt(pod) > startMs) counts.broken++;
    else counts.starting++;
  }
  return counts;
}

/** How long the scheduler has found no node; 0 while it has not reported that, and while others drain for the pod. */
export function unschedulableMs(pod: V1Pod, { draining, now }: Surroundings): number {
  const scheduled = findCondition(pod, 'PodScheduled');
  if (pod.spec?.nodeName !== undefined || isGated(pod) || scheduled?.status !== 'False') return 0;
  if (listAwaited(pod, draining).length > 0) return 0;
  return Math.max(0, now - toMillis(scheduled.lastTransitionTime ?? pod.metadata?.creationTimestamp));
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
