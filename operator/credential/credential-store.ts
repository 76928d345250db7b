/** All StorageCredentials as last seen, with the id that each claims, and what of each is to be published. */
import { deriveId } from '../../api/identity.ts';
import type { Condition } from '../../api/kubernetes-types.ts';
import type { PublishedCredential } from '../../api/redis-keys.ts';
import { type StorageCredential, storageCredential } from '../../api/storage-credential.ts';
import type { KubeObject } from '../../kube/object.ts';
import { toMillis } from '../../kube/time.ts';
import { ClaimIndex } from '../framework/claim-index.ts';
import { type Parsed, parseObject, type RawObject } from '../framework/parsing.ts';
import type { WantedCredential } from '../publish/desired-state.ts';
import { findCondition } from '../status/condition-list.ts';

export class CredentialIndex {
  readonly #parsed = new Map<string, Parsed<StorageCredential>>();
  readonly #uids = new Map<string, string | undefined>();
  readonly #byNamespace = new Map<string, Set<string>>();
  readonly #ids = new ClaimIndex();
  /** By key; null = nothing is to be published of it. Absent until it was reconciled, since its keys are in a Secret. */
  readonly #entries = new Map<string, PublishedCredential | null>();

  /** Takes in an object as the watch showed it; answers the other keys that have to be looked at again. */
  put(key: string, object: RawObject): string[] {
    const again = this.#uids.get(key) !== object.metadata.uid ? this.remove(key) : [];
    this.#uids.set(key, object.metadata.uid);
    const parsed = parseObject(storageCredential, object);
    this.#parsed.set(key, parsed);
    const { namespace } = object.metadata;
    const keys = this.#byNamespace.get(namespace) ?? new Set();
    this.#byNamespace.set(namespace, keys.add(key));
    const isLeaving = object.metadata.deletionTimestamp !== undefined;
    const id = parsed.ok && !isLeaving ? `${namespace}/${credentialIdOf(parsed.value)}` : undefined;
    const since = toMillis(object.metadata.creationTimestamp);
    return [...again, ...this.#ids.claim(id, { key, since })];
  }

  remove(key: string): string[] {
    this.#parsed.delete(key);
    this.#uids.delete(key);
    this.#entries.delete(key);
    const [namespace = ''] = key.split('/');
    const keys = this.#byNamespace.get(namespace);
    keys?.delete(key);
    if (keys?.size === 0) this.#byNamespace.delete(namespace);
    return this.#ids.release(key);
  }

  get(key: string): Parsed<StorageCredential> | undefined {
    return this.#parsed.get(key);
  }

  namespaces(): Iterable<string> {
    return this.#byNamespace.keys();
  }

  has(namespace: string): boolean {
    return this.#byNamespace.has(namespace);
  }

  /** The key of the credential that has the id. */
  owner(namespace: string, id: number): string | undefined {
    return this.#ids.owner(`${namespace}/${id}`);
  }

  entry(key: string): PublishedCredential | null | undefined {
    return this.#entries.get(key);
  }

  /** Says what is to be published of a credential that is there. */
  settle(key: string, entry: PublishedCredential | null): void {
    if (this.#parsed.has(key)) this.#entries.set(key, entry);
  }

  wanted(namespace: string): WantedCredential[] {
    return [...(this.#byNamespace.get(namespace) ?? [])].map((key) => ({
      name: key.split('/')[1]!,
      entry: this.#entries.get(key),
    }));
  }
}

export const credentialIdOf = ({ metadata, spec }: StorageCredential): number =>
  spec.id ?? deriveId('StorageCredential', metadata.namespace, metadata.name);

/** How many are in each state of their condition Verified. */
export function countVerified(objects: readonly KubeObject[]): { verified: string; count: number }[] {
  const counts = new Map<string, number>();
  for (const { status } of objects) {
    const { conditions = [] } = (status ?? {}) as { conditions?: Condition[] };
    const verified = findCondition(conditions, 'Verified')?.status ?? 'Unknown';
    counts.set(verified, (counts.get(verified) ?? 0) + 1);
  }
  return [...counts].map(([verified, count]) => ({ verified, count }));
}
