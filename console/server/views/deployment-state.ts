/** The state of a deployment, with a message. Pure. */

import type { Condition } from '../../../api/kubernetes-types.ts';
import type { ModelDeployment } from '../../../api/model-deployment.ts';
import type { DeploymentView } from '../../api.ts';

/** The condition's message refers to the manifest field. */
const PAUSED = 'Paused: requests get HTTP 503 until it is resumed.';

export type DeploymentState = DeploymentView['state'];

/** If one of these is False, the deployment is failing. */
const FAILING = ['Accepted', 'RouteReady', 'ImagePulled', 'WeightsLoaded', 'EngineHealthy', 'AdapterReady'];
/** Except for these reasons, which are progress. */
const IN_PROGRESS = ['Pulling', 'Loading', 'Starting', 'BaseNotReady', 'Downloading'];
/** It served before, still runs, and now fails its health check. */
const UNHEALTHY = 'EngineUnhealthy';
const STUCK = ['ReplicaFailure', 'ProgressDeadlineExceeded'];
/** It serves, but is degraded. */
const DEGRADING = ['GPUsAvailable', 'EngineHealthy', 'ImagePulled', 'WeightsLoaded', 'StorageReady'];

export function describeState(deployment: ModelDeployment): { state: DeploymentState; message: string } {
  const { metadata, spec, status } = deployment;
  const conditions = status.conditions;
  const find = (type: string) => conditions.find((condition) => condition.type === type);
  const ready = find('Ready');
  const message = ready?.message ?? '';
  if (metadata.deletionTimestamp !== undefined) return { state: 'deleting', message };
  if (ready === undefined) return { state: 'starting', message: 'Not reconciled yet.' };
  // The status belongs to an older spec.
  const isStale = ready.observedGeneration !== undefined && ready.observedGeneration < metadata.generation;
  // Ready is True in both.
  if (ready.reason === 'Paused') return { state: 'paused', message: PAUSED };
  if (ready.reason === 'ScaledToZero') return { state: 'scaled-to-zero', message };
  if (ready.status === 'True') return describeServing(deployment, isStale);
  if (spec.paused && isStale) return { state: 'paused', message: PAUSED };
  if (isStale) return { state: 'starting', message };
  if (ready.reason === UNHEALTHY) return { state: 'unhealthy', message };
  if (isFailing(conditions, ready)) return { state: 'failing', message };
  return { state: 'starting', message };
}

function describeServing({ status }: ModelDeployment, isStale: boolean): ReturnType<typeof describeState> {
  const { conditions, readyReplicas = 0, desiredReplicas = readyReplicas } = status;
  const fault = conditions.find(({ type, status }) => status === 'False' && DEGRADING.includes(type));
  if (fault) return { state: 'degraded', message: fault.message };
  const progressing = conditions.find(({ type }) => type === 'Progressing');
  const isMoving = isStale || progressing?.status === 'True';
  if (readyReplicas < desiredReplicas && !isMoving)
    return { state: 'degraded', message: `${readyReplicas} of ${desiredReplicas} replicas are ready.` };
  return { state: 'ready', message: '' };
}

const isFailing = (conditions: readonly Condition[], ready: Condition): boolean =>
  STUCK.includes(ready.reason) ||
  conditions.some(
    ({ type, status, reason }) =>
      status === 'False' && FAILING.includes(type) && !IN_PROGRESS.includes(reason),
  );
