/** A route that goes through the front lives in Berth's namespace, so no owner reference ends it: this does. */
import { FIELD_MANAGER, LABELS, MANAGED_BY } from '../../contract/names.ts';
import { NotOwnedError } from '../kube/apply.ts';
import { type KubeObject, objectKey } from '../kube/object.ts';
import { RESOURCES, type Resource } from '../kube/resource.ts';
import { frontRouteName } from '../resources/route-target.ts';
import type { ReconcileContext } from './context.ts';

type Writers = Pick<ReconcileContext, 'client' | 'settings' | 'log'>;

const KINDS: readonly Resource[] = [RESOURCES.Ingress, RESOURCES.HTTPRoute];

/** Routes as last applied, so that looking again writes nothing. */
export class FrontRoutes {
  readonly #context: Writers;
  readonly #applied = new Map<string, { text: string; resourceVersion: string | undefined }>();
  /** Generation of each object for which left-over routes were looked for. */
  readonly #searched = new Map<string, string>();

  constructor(context: Writers) {
    this.#context = context;
  }

  /** Writes the route, or removes those that an earlier spec left. */
  async bring(live: KubeObject, route: KubeObject | undefined, signal: AbortSignal): Promise<void> {
    const key = objectKey(live);
    if (route) await this.#apply(live, route, signal);
    const sought = `${live.metadata.uid}/${live.metadata.generation}/${route?.kind}`;
    if (this.#searched.get(key) === sought) return;
    await removeFrontRoute(this.#context, key, signal, route?.kind);
    this.#searched.set(key, sought);
  }

  forget(key: string): void {
    this.#applied.delete(key);
    this.#searched.delete(key);
  }

  async #apply(live: KubeObject, route: KubeObject, signal: AbortSignal): Promise<void> {
    const { client, log } = this.#context;
    const key = objectKey(live);
    const resource = KINDS.find(({ kind }) => kind === route.kind)!;
    const present = await client.find(resource, route.metadata, { signal });
    if (present && !isFrontRoute(present, live.metadata.name)) throw new NotOwnedError(present, live);
    const text = JSON.stringify(route);
    const last = this.#applied.get(key);
    if (present && last?.text === text && last.resourceVersion === present.metadata.resourceVersion) return;
    const result = await client.apply(resource, route, { fieldManager: FIELD_MANAGER, force: true, signal });
    this.#applied.set(key, { text, resourceVersion: result.metadata.resourceVersion });
    if (result.metadata.resourceVersion !== present?.metadata.resourceVersion)
      log.info({ kind: route.kind, key: objectKey(route) }, 'front route applied');
  }
}

/** Removes a deployment's routes from Berth's namespace, but for the kind that it still wants. */
export async function removeFrontRoute(
  { client, settings }: Writers,
  key: string,
  signal: AbortSignal,
  wantedKind?: string,
): Promise<void> {
  const [namespace, name] = key.split('/') as [string, string];
  const at = { name: frontRouteName(namespace, name), namespace: settings.namespace };
  for (const resource of KINDS.filter(({ kind }) => kind !== wantedKind)) {
    const route = await client.find(resource, at, { signal });
    if (route && isFrontRoute(route, name))
      await client.delete(resource, at, { uid: route.metadata.uid, signal });
  }
}

const isFrontRoute = ({ metadata }: KubeObject, name: string): boolean =>
  metadata.labels?.[LABELS.managedBy] === MANAGED_BY && metadata.labels?.[LABELS.deployment] === name;
