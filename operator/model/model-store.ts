/** All ModelDeployments as last seen, read by their schema, with the hosts and ids that each claims. */

import { deriveId } from '../../api/identity.ts';
import { type ModelDeployment, modelDeployment } from '../../api/model-deployment.ts';
import { defaultHost } from '../../api/names.ts';
import type { KubeObject } from '../../kube/object.ts';
import { toMillis } from '../../kube/time.ts';
import { type Claim, ClaimIndex } from '../framework/claim-index.ts';
import { type Parsed, parseObject, type RawObject, shareEqualParts } from '../framework/parsing.ts';

type IsHostAllowed = (model: ModelDeployment, host: string) => boolean;

export class ModelIndex {
  readonly #parsed = new Map<string, { resourceVersion: string; parsed: Parsed<ModelDeployment> }>();
  readonly #byNamespace = new Map<string, Set<string>>();
  readonly #hosts = new ClaimIndex();
  readonly #ids = new ClaimIndex();
  readonly #uids = new Map<string, string | undefined>();
  readonly #leaving = new Set<string>();
  readonly #withdrawn = new Set<string>();
  readonly #domain: string;
  readonly #isHostAllowed: IsHostAllowed;

  /** A host that a deployment may not have is never its own, so that it keeps nobody from theirs. */
  constructor(domain: string, isHostAllowed: IsHostAllowed) {
    this.#domain = domain;
    this.#isHostAllowed = isHostAllowed;
  }

  /** Takes in an object as the watch showed it; answers the other keys that have to be looked at again. */
  put(key: string, object: RawObject): string[] {
    const { name, namespace } = object.metadata;
    const resourceVersion = object.metadata.resourceVersion ?? '';
    if (this.#parsed.get(key)?.resourceVersion === resourceVersion && resourceVersion !== '') return [];
    // Deleted and made again in between: another object, with a place of its own in every queue.
    const again = this.#uids.get(key) !== object.metadata.uid ? this.remove(key) : [];
    this.#uids.set(key, object.metadata.uid);
    const parsed = shareWith(parseObject(modelDeployment, object), object);
    this.#parsed.set(key, { resourceVersion, parsed });
    const names = this.#byNamespace.get(namespace) ?? new Set();
    this.#byNamespace.set(namespace, names.add(name));
    const claim = { key, since: toMillis(object.metadata.creationTimestamp) };
    if (object.metadata.deletionTimestamp !== undefined) this.#leaving.add(key);
    // It may be a newer version's, or a slip: what it owned is not for others to take meanwhile.
    if (!parsed.ok) return again;
    return [...again, ...this.#claimHost(parsed.value, claim), ...this.#claimId(parsed.value, claim)];
  }

  #claimHost(model: ModelDeployment, claim: Claim): string[] {
    const host = this.hostOf(model);
    if (host === undefined || !this.mayHave(model, host)) return this.#hosts.claim(undefined, claim);
    return this.#hosts.claim(host, { ...claim, byName: host === this.#defaultHostOf(model) });
  }

  #claimId(model: ModelDeployment, claim: Claim): string[] {
    const id = registrationIdOf(model);
    return this.#ids.claim(String(id), { ...claim, byName: id === derivedIdOf(model) });
  }

  remove(key: string): string[] {
    if (!this.#parsed.delete(key)) return [];
    this.#leaving.delete(key);
    this.#withdrawn.delete(key);
    this.#uids.delete(key);
    const [namespace = '', name = ''] = key.split('/');
    const names = this.#byNamespace.get(namespace);
    names?.delete(name);
    if (names?.size === 0) this.#byNamespace.delete(namespace);
    return [...this.#hosts.release(key), ...this.#ids.release(key)];
  }

  /**
   * Its end is decided: nothing of it is published any more, though the object is still there. With another uid nothing
   * happens: it was made again while its predecessor was still being worked on.
   */
  withdraw(key: string, uid: string): void {
    if (this.#uids.get(key) === uid) this.#withdrawn.add(key);
  }

  /** Whether it is being deleted. */
  isLeaving(key: string): boolean {
    return this.#leaving.has(key);
  }

  isWithdrawn(key: string): boolean {
    return this.#withdrawn.has(key);
  }

  get(key: string): Parsed<ModelDeployment> | undefined {
    return this.#parsed.get(key)?.parsed;
  }

  keys(): Iterable<string> {
    return this.#parsed.keys();
  }

  namespaces(): Iterable<string> {
    return this.#byNamespace.keys();
  }

  names(namespace: string): ReadonlySet<string> {
    return this.#byNamespace.get(namespace) ?? new Set();
  }

  /** Whether requests with callbacks can be made in the namespace. */
  hasMedia(namespace: string): boolean {
    return [...this.names(namespace)].some((name) => {
      const parsed = this.get(`${namespace}/${name}`);
      return parsed?.ok && (parsed.value.spec.kind === 'Image' || parsed.value.spec.kind === 'Video');
    });
  }

  /** Keys of the deployments whose results go to a StorageCredential. */
  listStoringIn({ metadata }: Pick<KubeObject, 'metadata'>): string[] {
    const namespace = metadata.namespace!;
    const keys = [...this.names(namespace)].map((name) => `${namespace}/${name}`);
    return keys.filter((key) => {
      const parsed = this.get(key);
      return parsed?.ok && parsed.value.spec.storage.credential === metadata.name;
    });
  }

  /** The host a deployment asks for; undefined when it asks for no route. */
  hostOf(model: ModelDeployment): string | undefined {
    const { enabled, host } = model.spec.route;
    return enabled ? (host ?? this.#defaultHostOf(model)) : undefined;
  }

  #defaultHostOf({ metadata }: ModelDeployment): string {
    return defaultHost(metadata.name, metadata.namespace, this.#domain);
  }

  /** Whether the installation lets the deployment have the host, if nobody else does. */
  mayHave(model: ModelDeployment, host: string): boolean {
    return this.#isHostAllowed(model, host);
  }

  /** The key of the deployment that has the host; only one that may have it is ever its owner. */
  hostOwner(host: string): string | undefined {
    return this.#hosts.owner(host);
  }

  idOwner(id: number): string | undefined {
    return this.#ids.owner(String(id));
  }
}

/** The watch keeps the object too: one copy of most of it is enough. */
const shareWith = (parsed: Parsed<ModelDeployment>, object: RawObject): Parsed<ModelDeployment> =>
  parsed.ok ? { ok: true, value: shareEqualParts(parsed.value, object) } : parsed;

export const registrationIdOf = (model: ModelDeployment): number => model.spec.id ?? derivedIdOf(model);

const derivedIdOf = ({ metadata }: ModelDeployment): number =>
  deriveId('ModelDeployment', metadata.namespace, metadata.name);
