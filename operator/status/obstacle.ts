/** What gateways are told of a deployment whose replicas do not become ready. */
import type { GatewayConfig } from '../../api/gateway-config.ts';
import type { ModelDeploymentStatus } from '../../api/model-deployment.ts';
import { findCondition } from './condition-list.ts';
import { WAITING_FOR_QUOTA } from './placement.ts';
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
