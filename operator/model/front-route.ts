/** A route through the front is in Berth's namespace, so no owner reference deletes it: this does. */
import type { ModelDeploymentStatus } from '../../api/model-deployment.ts';
import { FIELD_MANAGER, LABELS, MANAGED_BY } from '../../api/names.ts';
import { NotOwnedError } from '../../kube/apply.ts';
import { isAsApplied, ownedFields } from '../../kube/managed-fields.ts';
import { isLaterVersion, type KubeObject, objectKey } from '../../kube/object.ts';
import { RESOURCES, type Resource } from '../../kube/resource.ts';
import { frontRouteName } from '../resources/route.ts';
import type { ModelContext } from './context.ts';

type Writers = Pick<ModelContext, 'client' | 'settings' | 'log'>;
type Routing = Writers & Pick<ModelContext, 'view'>;

const KINDS: readonly Resource[] = [RESOURCES.Ingress, RESOURCES.HTTPRoute];

/** Routes as last applied, so that an unchanged one is not written again. */
export class FrontRoutes {
  readonly #context: Routing;
  readonly #applied = new Map<string, { text: string; resourceVersion: string | undefined }>();
  /** Generation of each object for which stray routes were searched. */
  readonly #searched = new Map<string, string>();

  constructor(context: Routing) {
    this.#context = context;
  }

  /** Writes the route and returns it from the cluster, or removes those that an earlier spec left. */
  async sync(
    live: KubeObject,
    route: KubeObject | undefined,
    signal: AbortSignal,
  ): Promise<KubeObject | undefined> {
    const key = objectKey(live);
    const present = route && (await this.#apply(live, route, signal));
    const searchKey = `${live.metadata.uid}/${live.metadata.generation}/${route?.kind}`;
    if (this.#searched.get(key) === searchKey) return present;
    for (const resource of KINDS.filter(({ kind }) => kind !== route?.kind))
      if (this.#mayHaveStray(live, resource)) await removeRoute(this.#context, key, { resource, signal });
    this.#searched.set(key, searchKey);
    return present;
  }

  /** Whether a route of this kind may be left from another spec or setting of the installation. */
  #mayHaveStray(live: KubeObject, { kind }: Resource): boolean {
    if (kind === 'HTTPRoute') return mayHaveHTTPRoute(live, this.#context.settings);
    // The cache may not yet show what this process just created.
    return this.#applied.has(objectKey(live)) || this.#findCached(live) !== undefined;
  }

  #findCached({ metadata }: KubeObject): KubeObject | undefined {
    const { view, settings } = this.#context;
    return view.frontIngresses.get(
      `${settings.namespace}/${frontRouteName(metadata.namespace!, metadata.name)}`,
    );
  }

  delete(key: string): void {
    this.#applied.delete(key);
    this.#searched.delete(key);
  }

  async #apply(live: KubeObject, route: KubeObject, signal: AbortSignal): Promise<KubeObject> {
    const { client, log } = this.#context;
    const key = objectKey(live);
    const resource = KINDS.find(({ kind }) => kind === route.kind)!;
    const cached = route.kind === 'Ingress' ? this.#findCached(live) : undefined;
    const present = cached ?? (await client.find(resource, route.metadata, { signal }));
    if (present && !isFrontRoute(present, live.metadata.name)) throw new NotOwnedError(present, live);
    const text = JSON.stringify(route);
    const last = this.#applied.get(key);
    const isChanged = isLaterVersion(present?.metadata.resourceVersion, last?.resourceVersion);
    if (present && last?.text === text && !isChanged) return present;
    if (present && isAsWanted(route, present)) {
      this.#applied.set(key, { text, resourceVersion: present.metadata.resourceVersion });
      return present;
    }
    const result = await client.apply(resource, route, { fieldManager: FIELD_MANAGER, force: true, signal });
    this.#applied.set(key, { text, resourceVersion: result.metadata.resourceVersion });
    if (result.metadata.resourceVersion !== present?.metadata.resourceVersion)
      log.info({ kind: route.kind, key: objectKey(route) }, 'front route applied');
    return result;
  }
}

/** Removes a deployment's routes from Berth's namespace. */
export async function removeFrontRoute(context: Writers, key: string, signal: AbortSignal): Promise<void> {
  for (const resource of KINDS) await removeRoute(context, key, { resource, signal });
}

async function removeRoute(
  { client, settings }: Writers,
  key: string,
  { resource, signal }: { resource: Resource; signal: AbortSignal },
): Promise<void> {
  const [namespace, name] = key.split('/') as [string, string];
  const at = { name: frontRouteName(namespace, name), namespace: settings.namespace };
  const route = await client.find(resource, at, { signal });
  if (route && isFrontRoute(route, name))
    await client.delete(resource, at, { uid: route.metadata.uid, signal });
}

/**
 * HTTPRoutes are not watched: one is searched for unless this very spec, which needs none, was applied before. Where they
 * are the installation's default, one may be left from when deployments were routed the other way.
 */
export function mayHaveHTTPRoute(
  { metadata, spec, status }: KubeObject,
  { gateway }: Pick<ModelContext['settings'], 'gateway'>,
): boolean {
  const { observedGeneration, conditions = [] } = (status ?? {}) as Partial<ModelDeploymentStatus>;
  const isSettled = ['Accepted', 'RouteReady'].every((wanted) =>
    conditions.some(({ type, status: state }) => type === wanted && state === 'True'),
  );
  const { route } = (spec ?? {}) as { route?: { type?: string; gateway?: object } };
  const isNamed = route?.type === 'HTTPRoute' || route?.gateway !== undefined;
  return !isSettled || observedGeneration !== metadata.generation || isNamed || gateway !== undefined;
}

/** Applied by another process and unchanged since. */
function isAsWanted({ apiVersion, kind, metadata, ...rest }: KubeObject, live: KubeObject): boolean {
  const { name, namespace, ...owned } = metadata;
  return isAsApplied({ ...rest, metadata: owned }, live, ownedFields(live, FIELD_MANAGER));
}

const isFrontRoute = ({ metadata }: KubeObject, name: string): boolean =>
  metadata.labels?.[LABELS.managedBy] === MANAGED_BY && metadata.labels?.[LABELS.deployment] === name;
