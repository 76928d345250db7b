/** Which versions answer a share of a deployment's requests, and why one of them does not. Decided anew each time: members change. */
import { enginePriorityOf } from '../../api/engine-priority.ts';
import { type EngineRoute, listEngineRoutes } from '../../api/engine-routes.ts';
import { servedModelName } from '../../api/engine-traits.ts';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import type { ModelDeployment, ModelDeploymentSpec } from '../../api/model-deployment.ts';
import { type Verdict, verdict } from '../status/condition-list.ts';
import type { ModelStore } from './model-store.ts';

type Members = Pick<ModelStore, 'get' | 'isWithdrawn'>;

interface Obstacle {
  reason: 'MemberNotFound' | 'MemberNotSupported' | 'MemberPaused' | 'MemberNotReady';
  message: string;
}

/** Shares as its gateways apply them; undefined for a deployment without other versions. */
export function listShares(members: Members, model: ModelDeployment): GatewayConfig['traffic'] {
  return model.spec.traffic?.map(({ deployment, weight }) => {
    const obstacle = findObstacle(members, model, deployment);
    // Gateways see sooner whether it has a replica.
    const isExcluded = obstacle !== undefined && obstacle.reason !== 'MemberNotReady';
    return { deployment, weight, ...(isExcluded && { excluded: true as const }) };
  });
}

/** Undefined for a deployment without other versions. */
export function evaluateTraffic(members: Members, model: ModelDeployment): Verdict | undefined {
  const { traffic } = model.spec;
  if (traffic === undefined) return undefined;
  const obstacles = traffic.flatMap(({ deployment }) => findObstacle(members, model, deployment) ?? []);
  if (obstacles.length > 0) {
    const message = obstacles.map((obstacle) => obstacle.message).join('; ');
    const stays = obstacles.length === 1 ? 'its share stays here' : 'their shares stay here';
    return verdict('False', obstacles[0]!.reason, `${message}; ${stays}`);
  }
  const shares = traffic.map(({ deployment, weight }) => `${deployment} answers ${weight} %`);
  return verdict('True', 'Split', `${shares.join(', ')} of conversations`);
}

function findObstacle(members: Members, model: ModelDeployment, name: string): Obstacle | undefined {
  const { namespace } = model.metadata;
  const key = `${namespace}/${name}`;
  const parsed = members.get(key);
  if (!parsed?.ok || members.isWithdrawn(key) || parsed.value.metadata.deletionTimestamp !== undefined)
    return {
      reason: 'MemberNotFound',
      message: `spec.traffic: there is no ModelDeployment ${name} that is valid and not being deleted`,
    };
  const member = parsed.value;
  const difference =
    name === model.metadata.name ? 'is this deployment itself' : findDifference(model.spec, member.spec);
  if (difference !== undefined)
    return { reason: 'MemberNotSupported', message: `spec.traffic: ${name} ${difference}` };
  if (member.spec.paused) return { reason: 'MemberPaused', message: `${name} is paused` };
  if ((member.status.readyReplicas ?? 0) > 0) return undefined;
  return { reason: 'MemberNotReady', message: `${name} has no ready replica` };
}

/** Requests are validated and written for the engine of the deployment, and sent to the member's as they are. */
function findDifference(own: ModelDeploymentSpec, member: ModelDeploymentSpec): string | undefined {
  if (member.adapterOf) return 'is an adapter, which has no replicas of its own';
  const facts: [string, (spec: ModelDeploymentSpec) => string | undefined][] = [
    ['kind', ({ kind }) => kind],
    ['model.id', ({ model }) => model.id],
    ['engine.preset', ({ engine }) => engine.preset],
    ['engine.servedModelName', servedModelName],
  ];
  for (const [field, read] of facts)
    if (read(own) !== read(member))
      return `has ${field} ${read(member)}, and this deployment ${read(own)}: they must be the same`;
  if (enginePriorityOf(own) !== enginePriorityOf(member))
    return 'schedules its requests otherwise: use the same scheduling flags in engine.args of both';
  const missing = listRoutes(own).filter((route) => !listRoutes(member).includes(route));
  if (missing.length > 0) return `lacks ${missing.join(', ')} in engine.routes`;
  return undefined;
}

const listRoutes = ({ engine, kind }: ModelDeploymentSpec): readonly EngineRoute[] =>
  engine.routes ?? listEngineRoutes(engine.preset, kind);
