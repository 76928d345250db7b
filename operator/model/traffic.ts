/** Which versions answer a share of a deployment's requests, and why one of them does not. Decided anew each time: members change. */
import { enginePriorityOf } from '../../api/engine-priority.ts';
import { type EngineRoute, listEngineRoutes } from '../../api/engine-routes.ts';
import { servedModelName } from '../../api/engine-traits.ts';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import type { ModelDeployment, ModelDeploymentSpec } from '../../api/model-deployment.ts';
import { type Verdict, verdict } from '../status/condition-list.ts';
import type { ModelStore } from './model-store.ts';

/** The first sidecar whose gateway hops. */
const SINCE = '0.1.0';

type Members = Pick<ModelStore, 'findValid' | 'isWithdrawn' | 'entriesOf'>;

interface Obstacle {
  reason: 'MemberNotFound' | 'MemberNotSupported' | 'MemberPaused' | 'MemberNotReady' | 'SidecarOutdated';
  message: string;
}

/** Shares as its gateways apply them; undefined for a deployment without other versions. */
export function listShares(members: Members, model: ModelDeployment): GatewayConfig['traffic'] {
  return model.spec.traffic?.map(({ deployment, weight }) => {
    const isExcluded = excludes(findObstacle(members, model, deployment));
    return { deployment, weight, ...(isExcluded && { excluded: true as const }) };
  });
}

/** Which deployments' gateways may use the engines of this one; undefined: none. */
export function listSenders(members: Members, model: ModelDeployment): string[] | undefined {
  const entries = members.entriesOf(model);
  const senders = entries.filter((entry) => !excludes(findObstacle(members, entry, model.metadata.name)));
  return senders.length === 0 ? undefined : senders.map(({ metadata }) => metadata.name);
}

/** Gateways see sooner whether it has a replica that lends a slot. */
const excludes = (obstacle: Obstacle | undefined): boolean =>
  obstacle !== undefined && obstacle.reason !== 'MemberNotReady' && obstacle.reason !== 'SidecarOutdated';

/** Undefined for a deployment without other versions. */
export function evaluateTraffic(members: Members, model: ModelDeployment): Verdict | undefined {
  const { traffic } = model.spec;
  if (traffic === undefined) return undefined;
  const obstacles = traffic
    .filter(({ weight }) => weight > 0)
    .flatMap(({ deployment }) => findObstacle(members, model, deployment) ?? []);
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
  const member = members.findValid(key);
  if (!member || members.isWithdrawn(key) || member.metadata.deletionTimestamp !== undefined)
    return {
      reason: 'MemberNotFound',
      message: `spec.traffic: there is no ModelDeployment ${name} that is valid and not being deleted`,
    };
  const difference =
    name === model.metadata.name ? 'is this deployment itself' : findDifference(model.spec, member.spec);
  if (difference !== undefined)
    return { reason: 'MemberNotSupported', message: `spec.traffic: ${name} ${difference}` };
  if (member.spec.paused) return { reason: 'MemberPaused', message: `${name} is paused` };
  const outdated = [model, member].find(({ status }) => isOutdated(status.sidecarVersion));
  if (outdated)
    return {
      reason: 'SidecarOutdated',
      message: `the pods of ${outdated.metadata.name} run sidecar ${outdated.status.sidecarVersion}, which has no spec.traffic: restart them`,
    };
  if ((member.status.readyReplicas ?? 0) > 0) return undefined;
  return { reason: 'MemberNotReady', message: `${name} has no ready replica` };
}

/** Undefined while it is not reported yet. */
const isOutdated = (version: string | undefined): boolean =>
  version !== undefined && version.localeCompare(SINCE, 'en', { numeric: true }) < 0;

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
