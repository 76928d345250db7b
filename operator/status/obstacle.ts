/** What gateways are told of a deployment whose replicas do not become ready. */
import type { V1Pod } from '@kubernetes/client-node';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import type { ModelDeploymentStatus } from '../../api/model-deployment.ts';
import { toMillis } from '../../kube/time.ts';
import { findCondition } from './condition-list.ts';
import { leavesInTime } from './eviction.ts';
import { isQueued, WAITING_FOR_QUOTA } from './placement.ts';
import { isRouteProblem } from './problem.ts';

export type Obstacle = NonNullable<GatewayConfig['obstacle']>;

/** Undefined: none that is known, so it starts, waits, or serves. */
export function findObstacle({
  phase,
  conditions,
}: Pick<ModelDeploymentStatus, 'phase' | 'conditions'>): Obstacle | undefined {
  const reason = findCondition(conditions, 'Ready')?.reason ?? '';
  switch (phase) {
    case 'Invalid':
      // Its pods are created.
      return isRouteProblem({ reason, message: '' }) ? undefined : phase;
    case 'Failed':
      // After its first crash, an engine starts again.
      return reason === 'EngineCrashed' ? undefined : phase;
    case 'Unhealthy':
      return phase;
    case 'Pending':
      return reason === WAITING_FOR_QUOTA ? reason : undefined;
    default:
      return undefined;
  }
}

/** Kueue gates each pod for a moment, also where it has quota. */
const ADMISSION_MS = 10_000;

/**
 * Milliseconds for which a wait of these pods for quota may still be brief; infinite while a predecessor drains. Requests are held
 * meanwhile.
 */
export function countBriefMs(pods: readonly V1Pod[], now: number): number {
  if (pods.some((pod) => leavesInTime(pod, now))) return Number.POSITIVE_INFINITY;
  const created = pods.filter(isQueued).map(({ metadata }) => toMillis(metadata?.creationTimestamp));
  return Math.max(0, Math.min(...created) + ADMISSION_MS - now);
}
