/** Whether a Deployment is being rolled, from its own status. Pure. */
import type { V1Deployment } from '@kubernetes/client-node';
import { ANNOTATIONS } from '../../api/names.ts';
import type { Wire } from '../../kube/object.ts';

/** Ready pods that a rollout in progress, or about to start with `wanted`, may remove at once. */
export function countRollingAway(
  live: Wire<V1Deployment> | undefined,
  wanted: Wire<V1Deployment> | undefined,
): number {
  if (!live) return 0;
  if (!isRolling(live) && !isBeginning(live, wanted)) return 0;
  const unavailable = (wanted ?? live).spec?.strategy?.rollingUpdate?.maxUnavailable ?? 1;
  return typeof unavailable === 'number' ? unavailable : 1;
}

const isBeginning = (live: Wire<V1Deployment>, wanted: Wire<V1Deployment> | undefined): boolean =>
  wanted !== undefined && templateMark(wanted) !== templateMark(live);

/** Whether the Deployment lacks the template of `wanted`, or its controller has not seen its spec yet. */
export function isOutdated(
  live: Wire<V1Deployment> | undefined,
  wanted: Wire<V1Deployment> | undefined,
): boolean {
  const observed = live?.status?.observedGeneration;
  const isUnseen = observed !== undefined && observed < (live!.metadata.generation ?? 0);
  return live !== undefined && (isUnseen || isBeginning(live, wanted));
}

/** Changes exactly when the pods are rolled: by another spec, or by a sidecar that the operator rolls out by itself. */
const templateMark = ({ metadata: { annotations = {} } }: Wire<V1Deployment>) =>
  [annotations[ANNOTATIONS.templateInputs], annotations[ANNOTATIONS.sidecarRolledAt]].join();

/** The Deployment controller has not seen its spec yet, or has pods of an older one. */
export function isRolling({ metadata, spec, status }: Wire<V1Deployment>): boolean {
  const { observedGeneration = 0, updatedReplicas = 0, replicas = 0 } = status ?? {};
  if (observedGeneration < (metadata.generation ?? 0)) return true;
  return updatedReplicas < Math.min(spec?.replicas ?? 0, replicas);
}
