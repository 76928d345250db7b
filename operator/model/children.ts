/** Applies a deployment's children in an order that keeps it reachable, and reports what the API server refuses. */
import type { V1Deployment } from '@kubernetes/client-node';
import { childNames, FINALIZER, LABELS } from '../../api/names.ts';
import {
  isForbidden,
  isInvalid,
  isNamespaceTerminating,
  isNotFound,
  isUnknownField,
  isUnserved,
  KubeApiError,
} from '../../kube/api-error.ts';
import { NotOwnedError } from '../../kube/apply.ts';
import { controllerOf, type KubeObject, objectKey, type Wire } from '../../kube/object.ts';
import { RESOURCES, type Resource } from '../../kube/resource.ts';
import { type BuiltChildren, findDeployment } from '../resources/children.ts';
import { isOutdated, isRolling } from '../resources/rolling.ts';
import { isFrozenByKueue, writeScale } from '../scaling/scale-subresource.ts';
import type { Problem } from '../status/problem.ts';
import type { ModelContext } from './context.ts';
import { FrontRoutes, mayHaveHTTPRoute } from './front-route.ts';
import { findLiveDeployment } from './live-deployment.ts';

/** Each former spec left one. */
const MAX_TEMPLATES = 20;

interface ChildrenWork {
  live: KubeObject;
  built: Pick<BuiltChildren, 'objects' | 'frontRoute'>;
  /** Called once what the pods need exists, such as the Service, and before they are changed; what it throws keeps them as they are. */
  beforePods: () => Promise<void>;
  signal: AbortSignal;
}

export interface AppliedChildren {
  /** Permanent problems. */
  problems: Problem[];
  /** As it is in the cluster, with its status. */
  httpRoute: KubeObject | undefined;
  /** As the API server accepted it, if it did: at least its replicas. */
  deployment: Pick<Wire<V1Deployment>, 'spec'> | undefined;
}

export class Children {
  readonly #context: Pick<ModelContext, 'client' | 'view' | 'applier' | 'settings' | 'log'>;
  readonly #frontRoutes: FrontRoutes;
  /** Generation of each object, by key, for which a stray HTTPRoute was searched. */
  readonly #searched = new Map<string, string>();
  /** The same, for former claim templates of those that have claimed GPUs since the operator started; empty: none yet. */
  readonly #tidied = new Map<string, string>();

  constructor(context: Pick<ModelContext, 'client' | 'view' | 'applier' | 'settings' | 'log'>) {
    this.#context = context;
    this.#frontRoutes = new FrontRoutes(context);
  }

  /** Applies the built children, first what the pods need, and removes all others. */
  async apply({ live, built, beforePods, signal }: ChildrenWork): Promise<AppliedChildren> {
    const { applier } = this.#context;
    let deployment: Wire<V1Deployment> | undefined;
    try {
      const isNeeded = ({ kind }: KubeObject) =>
        kind !== 'Deployment' && kind !== 'Ingress' && kind !== 'HTTPRoute';
      await applier.applyAll(built.objects.filter(isNeeded), live, { signal });
      await beforePods();
      const wanted = findDeployment(built);
      const routes = built.objects.filter((object) => !isNeeded(object) && object !== wanted);
      const [pods, routed] = await Promise.allSettled([
        applier.applyAll(wanted ? [wanted] : [], live, { signal }),
        applier.applyAll(routes, live, { signal }),
      ]);
      if (pods.status === 'rejected') throw pods.reason;
      deployment = pods.value[0]?.object as Wire<V1Deployment> | undefined;
      if (routed.status === 'rejected') throw routed.reason;
      await applier.removeOthers(built.objects, live, { signal });
      await this.#removeStrayRoute(live, built, signal);
      const frontRoute = await this.#frontRoutes.sync(live, built.frontRoute, signal);
      const applied = [...routed.value.map(({ object }) => object), frontRoute];
      const httpRoute = applied.find((object) => object?.kind === 'HTTPRoute');
      if (deployment) await this.#removeFormerClaimTemplates(live, built, { deployment, signal });
      return { problems: [], httpRoute, deployment };
    } catch (error) {
      const problem = describeRefusal(error, live);
      if (!problem) throw error;
      const refused = { problems: [problem], httpRoute: undefined, deployment };
      if (!isFrozenByKueue(error) || !isAbout(error, RESOURCES.Deployment)) return refused;
      try {
        return { ...refused, deployment: await this.#scale(live, built, signal) };
      } catch (failure) {
        problem.message += `; its replicas could not be written either: ${(failure as Error).message}`;
        return refused;
      }
    }
  }

  /** Pauses and scales a Deployment that Kueue has frozen. */
  async #scale(live: KubeObject, built: ChildrenWork['built'], signal: AbortSignal) {
    const { client } = this.#context;
    const { replicas } = findDeployment(built)?.spec ?? {};
    if (replicas === undefined) return undefined;
    const current = await findLiveDeployment(this.#context, objectKey(live), signal);
    if (!current || current.spec?.replicas === replicas) return undefined;
    if (controllerOf(current)?.uid !== live.metadata.uid) return undefined;
    await writeScale(client, current, { replicas, signal });
    return { spec: { replicas } as V1Deployment['spec'] };
  }

  delete(key: string): void {
    this.#searched.delete(key);
    this.#tidied.delete(key);
    this.#frontRoutes.delete(key);
  }

  /** Templates of former specs, once per generation, when no pod is made from them anymore. */
  async #removeFormerClaimTemplates(
    live: KubeObject,
    built: ChildrenWork['built'],
    { deployment, signal }: { deployment: Wire<V1Deployment>; signal: AbortSignal },
  ): Promise<void> {
    const { client, applier } = this.#context;
    const resource = RESOURCES.ResourceClaimTemplate;
    const key = objectKey(live);
    const { name, namespace, uid, generation } = live.metadata;
    const generationKey = `${uid}/${generation}`;
    const wanted = findDeployment(built);
    const current = built.objects.find(({ kind }) => kind === resource.kind);
    const claims = wanted?.spec?.template.spec?.resourceClaims ?? [];
    const kept = [current?.metadata.name, ...claims.map((claim) => claim.resourceClaimTemplateName)];
    if (current && !this.#tidied.has(key)) this.#tidied.set(key, '');
    const tidied = this.#tidied.get(key) ?? generationKey;
    if (tidied === generationKey || isRolling(deployment) || isOutdated(deployment, wanted)) return;
    const labelSelector = `${LABELS.deployment}=${name}`;
    const { items } = await client.list(resource, { namespace, labelSelector, limit: MAX_TEMPLATES, signal });
    for (const item of items)
      if (!kept.includes(item.metadata.name) && controllerOf(item)?.uid === uid)
        await applier.remove(item, live, { signal });
    this.#tidied.set(key, generationKey);
  }

  /** HTTPRoutes are not watched, so one of an earlier spec is searched for once per generation. */
  async #removeStrayRoute(
    live: KubeObject,
    built: ChildrenWork['built'],
    signal: AbortSignal,
  ): Promise<void> {
    const { client, applier, settings } = this.#context;
    const { name, namespace, uid, generation } = live.metadata;
    const searchKey = `${uid}/${generation}`;
    if (this.#searched.get(objectKey(live)) === searchKey) return;
    if (built.objects.some(({ kind }) => kind === 'HTTPRoute') || !mayHaveHTTPRoute(live, settings)) return;
    // The finalizer precedes every child, so an object without it has none yet.
    if (live.metadata.finalizers?.includes(FINALIZER)) {
      const at = { name: childNames(name).route, namespace };
      const route = await client.find(RESOURCES.HTTPRoute, at, { signal });
      if (route && controllerOf(route)?.uid === uid) await applier.remove(route, live, { signal });
    }
    this.#searched.set(objectKey(live), searchKey);
  }
}

const isAbout = (error: unknown, { plural }: Resource): boolean =>
  (error as KubeApiError).message.includes(` ${plural} `);

/** A refusal that only a person can resolve; anything else is retried. */
export function describeRefusal(error: unknown, live: KubeObject): Problem | undefined {
  if (error instanceof NotOwnedError)
    return isPredecessors(error, live) ? undefined : { reason: 'NotOwned', message: error.message };
  if (isNamespaceTerminating(error)) return undefined;
  if (isNotFound(error) && isAbout(error, RESOURCES.HTTPRoute))
    return {
      reason: 'NoHTTPRoute',
      message: 'the cluster has no HTTPRoute resource: install the Gateway API CRDs',
    };
  if (isUnserved(error) && isAbout(error, RESOURCES.ResourceClaimTemplate))
    return {
      reason: 'NoDeviceClaims',
      message:
        'spec.gpu.deviceClass: the cluster has no resource.k8s.io/v1 (Kubernetes 1.34 or later has): use spec.gpu.resourceName',
    };
  const isMalformed = error instanceof KubeApiError && error.code === 400;
  if (isInvalid(error) || isMalformed || isUnknownField(error))
    return { reason: 'Rejected', message: (error as KubeApiError).message };
  // By a quota, an admission webhook or missing rights, which others may change.
  if (isForbidden(error))
    return {
      reason: 'Forbidden',
      message: (error as KubeApiError).message,
      isFrozen: isAbout(error, RESOURCES.Deployment),
    };
  return undefined;
}

/** Left by a just deleted object of the same name: the garbage collector will remove it. */
function isPredecessors({ object }: NotOwnedError, live: KubeObject): boolean {
  const controller = controllerOf(object);
  return controller?.kind === live.kind && controller.name === live.metadata.name;
}
