/** The verdict of the Gateway's controller on a deployment's HTTPRoute. */
import { isDeepStrictEqual } from 'node:util';
import type { Condition } from '../../api/kubernetes-types.ts';
import type { KubeObject } from '../../kube/object.ts';
import { toMillis } from '../../kube/time.ts';
import { findCondition, type Verdict, verdict } from './condition-list.ts';

interface ParentReference {
  name: string;
  namespace?: string;
  sectionName?: string;
}

interface ParentStatus {
  parentRef: ParentReference;
  controllerName?: string;
  conditions?: Condition[];
}

/** `False` if a controller refuses it or cannot resolve its Service; `Unknown` until one has seen its latest spec. */
export function evaluateHTTPRoute(route: KubeObject): Verdict {
  const wanted = (route.spec as { parentRefs: ParentReference[] }).parentRefs[0]!;
  const gateway = `Gateway ${wanted.namespace ?? route.metadata.namespace}/${wanted.name}`;
  const { parents = [] } = (route.status ?? {}) as { parents?: ParentStatus[] };
  const verdicts = parents
    .filter(({ parentRef }) => isSame(parentRef, wanted, route.metadata.namespace))
    .map((parent) => evaluateParent(parent, route.metadata.generation ?? 0, gateway));
  const best = (['True', 'False'] as const).map((status) => verdicts.find((each) => each.status === status));
  return (
    best.find((each) => each !== undefined) ??
    verdict('Unknown', 'WaitingForGateway', `no controller has accepted the HTTPRoute for ${gateway} yet`)
  );
}

/** HTTPRoutes are not watched, since a cluster may lack their definition. */
const FIRST_RECHECK_MS = 5_000;
const MAX_RECHECK_MS = 120_000;

/**
 * When to read the HTTPRoute again; `routeReady` as it was before. A Gateway that accepts none must not have all of them
 * read every few seconds forever.
 */
export function decideRecheckMs({ status }: Verdict, routeReady: Condition | undefined, now: number): number {
  if (status === 'True') return MAX_RECHECK_MS;
  const waitedMs =
    routeReady && routeReady.status !== 'True' ? now - toMillis(routeReady.lastTransitionTime) : 0;
  return Math.min(MAX_RECHECK_MS, Math.max(FIRST_RECHECK_MS, waitedMs / 10));
}

function evaluateParent({ conditions = [] }: ParentStatus, generation: number, gateway: string): Verdict {
  for (const type of ['Accepted', 'ResolvedRefs']) {
    const condition = findCondition(conditions, type);
    if ((condition?.observedGeneration ?? generation) < generation)
      return verdict('Unknown', 'WaitingForGateway');
    if (condition?.status !== 'False') continue;
    const problem =
      type === 'Accepted' ? 'rejected the HTTPRoute' : 'could not resolve the references of the HTTPRoute';
    const message = `${gateway} ${problem}: ${condition.reason}: ${condition.message}`;
    return verdict('False', type === 'Accepted' ? 'NotAcceptedByGateway' : 'RefsNotResolved', message);
  }
  return findCondition(conditions, 'Accepted')?.status === 'True'
    ? verdict('True', 'AcceptedByGateway')
    : verdict('Unknown', 'WaitingForGateway');
}

/** A reference without a namespace means the route's own. */
const isSame = (a: ParentReference, b: ParentReference, namespace: string | undefined): boolean =>
  isDeepStrictEqual(
    ...([a, b].map((each) => [each.name, each.namespace ?? namespace, each.sectionName]) as [
      unknown,
      unknown,
    ]),
  );
