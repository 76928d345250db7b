/** The progress of a Deployment's rollout, from its own status alone. Pure. */
import type { V1Deployment } from '@kubernetes/client-node';
import type { Wire } from '../../kube/object.ts';
import { toMillis } from '../../kube/time.ts';
import { readGrant, type SidecarGrant } from '../resources/template-pin.ts';

export interface RolloutProgress {
  /** The last rollout of the sidecar that the operator started by itself. */
  rolled: SidecarGrant | undefined;
  /** The Deployment controller has observed the latest spec; if not, the rest does not describe it. */
  isObserved: boolean;
  /** Every pod of the latest template was ready once; later scaling does not count. */
  isComplete: boolean;
  /** When it last progressed; once complete, when that was. Unix milliseconds, 0 if unknown. */
  progressedAt: number;
  /** The Deployment controller reports its deadline as exceeded. */
  isStuck: boolean;
  /** All desired replicas serve. */
  isAvailable: boolean;
  /** No replica is desired. */
  isIdle: boolean;
}

export function readProgress(deployment: Wire<V1Deployment>): RolloutProgress {
  const { metadata, spec, status } = deployment;
  const replicas = spec?.replicas ?? 0;
  const isObserved = (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  const progressing = status?.conditions?.find(({ type }) => type === 'Progressing');
  // If a rollback finds an old ReplicaSet, the condition is that of the last rollout until the first pod exists.
  const isUpdated = (status?.updatedReplicas ?? 0) >= (status?.replicas ?? 0);
  return {
    rolled: readGrant(deployment),
    isObserved,
    isComplete: isObserved && isUpdated && progressing?.reason === 'NewReplicaSetAvailable',
    progressedAt: isObserved ? toMillis(progressing?.lastUpdateTime) : 0,
    isStuck: isObserved && progressing?.status === 'False',
    isAvailable: (status?.availableReplicas ?? 0) >= replicas,
    isIdle: replicas === 0,
  };
}
