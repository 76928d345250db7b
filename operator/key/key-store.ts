/** All APIKeys as last seen, by namespace, with the hash that each claims. */
import { type APIKey, apiKey } from '../../api/api-key.ts';
import type { PublishedKey } from '../../api/redis-keys.ts';
import { toMillis } from '../../kube/time.ts';
import { ClaimIndex } from '../framework/claim-index.ts';
import { type Parsed, parseObject, type RawObject } from '../framework/parsing.ts';

export class KeyIndex {
  readonly #parsed = new Map<string, Parsed<APIKey>>();
  readonly #uids = new Map<string, string | undefined>();
  readonly #byNamespace = new Map<string, Set<string>>();
  readonly #hashes = new ClaimIndex();

  /** Takes in an object as the watch showed it; answers the other keys that have to be looked at again. */
  put(key: string, object: RawObject): string[] {
    const again = this.#uids.get(key) !== object.metadata.uid ? this.remove(key) : [];
    this.#uids.set(key, object.metadata.uid);
    const parsed = parseObject(apiKey, object);
    this.#parsed.set(key, parsed);
    const names = this.#byNamespace.get(object.metadata.namespace) ?? new Set();
    this.#byNamespace.set(object.metadata.namespace, names.add(key));
    const hash = parsed.ok && !isLeaving(parsed.value) ? hashOf(parsed.value) : undefined;
    const thing = hash === undefined ? undefined : `${object.metadata.namespace}/${hash}`;
    const since = toMillis(object.metadata.creationTimestamp);
    return [...again, ...this.#hashes.claim(thing, { key, since })];
  }

  remove(key: string): string[] {
    this.#parsed.delete(key);
    this.#uids.delete(key);
    const [namespace = ''] = key.split('/');
    const keys = this.#byNamespace.get(namespace);
    keys?.delete(key);
    if (keys?.size === 0) this.#byNamespace.delete(namespace);
    return this.#hashes.release(key);
  }

  get(key: string): Parsed<APIKey> | undefined {
    return this.#parsed.get(key);
  }

  namespaces(): Iterable<string> {
    return this.#byNamespace.keys();
  }

  has(namespace: string): boolean {
    return this.#byNamespace.has(namespace);
  }

  owner(namespace: string, sha256: string): string | undefined {
    return this.#hashes.owner(`${namespace}/${sha256}`);
  }

  /** What a namespace's gateways may let in, by hash. */
  published(namespace: string): Map<string, PublishedKey> {
    const published = new Map<string, PublishedKey>();
    for (const key of this.#byNamespace.get(namespace) ?? []) {
      const parsed = this.#parsed.get(key);
      if (!parsed?.ok || isLeaving(parsed.value)) continue;
      const sha256 = hashOf(parsed.value);
      if (sha256 === undefined || this.owner(namespace, sha256) !== key) continue;
      published.set(sha256, toPublished(parsed.value));
    }
    return published;
  }
}

const isLeaving = ({ metadata }: APIKey): boolean => metadata.deletionTimestamp !== undefined;

/** The hash of a key that somebody made, or of the one that the operator made before. */
const hashOf = ({ spec, status }: APIKey): string | undefined =>
  spec.sha256 ?? (status.secretName ? status.sha256 : undefined);

export const toPublished = ({ metadata, spec }: APIKey): PublishedKey => ({
  n: metadata.name,
  rpm: spec.rpm,
  tpd: spec.tpd,
  exp: spec.expiresAt === undefined ? 0 : Math.max(1, Math.floor(Date.parse(spec.expiresAt) / 1000)),
  off: spec.disabled ? 1 : 0,
});
