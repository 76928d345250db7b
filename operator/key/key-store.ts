/** All APIKeys as last seen, with the hash that each claims. */
import { type APIKey, apiKey } from '../../api/api-key.ts';
import { encodeBudget } from '../../api/budget.ts';
import { toBudget } from '../../api/budget-spec.ts';
import type { PublishedKey } from '../../api/redis-keys.ts';
import type { KubeObject } from '../../kube/object.ts';
import { toMillis } from '../../kube/time.ts';
import type { RememberedBudget } from '../../redis/admission/budgets.ts';
import { ClaimIndex } from '../framework/claim-index.ts';
import { type Parsed, ParsedStore, type RawObject } from '../framework/parsed-store.ts';
import { rememberBudget } from '../status/budget.ts';

export class KeyStore extends ParsedStore<APIKey> {
  readonly #hashes = new ClaimIndex();

  constructor() {
    super(apiKey);
  }

  protected onPut(key: string, { metadata }: RawObject): string[] {
    const hash = this.hashOf(key);
    const thing = hash === undefined ? undefined : `${metadata.namespace}/${hash}`;
    return this.#hashes.claim(thing, { key, since: toMillis(metadata.creationTimestamp) });
  }

  protected onRemove(key: string): string[] {
    return this.#hashes.release(key);
  }

  /** The key of the APIKey that owns a hash. */
  owner(namespace: string, sha256: string): string | undefined {
    return this.#hashes.owner(`${namespace}/${sha256}`);
  }

  /** The hash that an APIKey claims; undefined for none. */
  hashOf(key: string): string | undefined {
    const parsed = this.get(key);
    return parsed?.ok && !this.isLeaving(key) ? hashOf(parsed.value) : undefined;
  }

  /** The keys that a namespace's gateways may accept, by hash. */
  published(namespace: string): Map<string, PublishedKey> {
    const published = new Map<string, PublishedKey>();
    for (const key of this.keys(namespace)) {
      const sha256 = this.hashOf(key);
      if (sha256 === undefined || this.owner(namespace, sha256) !== key) continue;
      published.set(sha256, this.#toPublished(key));
    }
    return published;
  }

  /** What the statuses of a namespace's keys say of their budgets. */
  budgets(namespace: string): RememberedBudget[] {
    return [...this.keys(namespace)].flatMap((key) => {
      const parsed = this.get(key);
      if (!parsed?.ok) return [];
      const { metadata, spec, status } = parsed.value;
      return spec.budget
        ? rememberBudget({ kind: 'key', name: metadata.name }, spec.budget, status.budget)
        : [];
    });
  }

  /** The one of this hash that they may accept. */
  publishedAs(namespace: string, sha256: string): PublishedKey | undefined {
    const owner = this.owner(namespace, sha256);
    return owner === undefined ? undefined : this.#toPublished(owner);
  }

  /** What is published of a key that claims a hash. */
  #toPublished(key: string): PublishedKey {
    const parsed = this.get(key) as Parsed<APIKey> & { ok: true };
    return toPublished(parsed.value);
  }
}

/** The hash in the spec, or that of the key which the operator created. */
const hashOf = ({ spec, status }: APIKey): string | undefined =>
  spec.sha256 ?? (status.secretName ? status.sha256 : undefined);

const toPublished = ({ metadata, spec }: APIKey): PublishedKey => ({
  n: metadata.name,
  rpm: spec.rpm,
  tpd: spec.tpd,
  exp: spec.expiresAt === undefined ? 0 : Math.max(1, Math.floor(Date.parse(spec.expiresAt) / 1000)),
  off: spec.disabled ? 1 : 0,
  ...(spec.priority !== 0 && { pri: spec.priority }),
  ...(spec.owner !== undefined && { own: spec.owner }),
  ...(spec.deployments && { dep: spec.deployments.join(',') }),
  ...(spec.budget && { bud: encodeBudget(toBudget(spec.budget)) }),
});

/** The hashes that a cached object claims; a stub claims none. */
export function listHashes({ spec, status }: KubeObject): string[] {
  const { sha256 } = (typeof spec === 'object' && spec !== null ? spec : {}) as { sha256?: unknown };
  const { sha256: made } = (status ?? {}) as { sha256?: unknown };
  return [sha256, made].filter((hash) => typeof hash === 'string');
}
