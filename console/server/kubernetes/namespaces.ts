/** The namespaces of a user: those in which they can list deployments. */

import { CONSOLE_RIGHTS } from '../../../api/console-rights.ts';
import { ConcurrencyLimit } from '../../../kit/concurrency-limit.ts';
import type { RedisClient } from '../../../redis/client.ts';
import { readWorkspaces } from '../../../redis/publication/published.ts';
import { PromiseCache } from '../sessions/promise-cache.ts';
import type { RedisPresence } from '../sessions/redis-presence.ts';
import type { Session } from '../sessions/session.ts';
import type { Access } from './access.ts';
import type { Kubernetes } from './client.ts';
import { KubernetesError } from './error.ts';

const TTL_MS = 30_000;
const MAX_SESSIONS = 5_000;
const MAX_NAMESPACES = 500;
const CONCURRENCY = 16;

interface NamespacesOptions {
  kubernetes: Kubernetes;
  redis: RedisClient;
  presence: RedisPresence;
  access: Access;
}

export class Namespaces {
  readonly #kubernetes: Kubernetes;
  readonly #redis: RedisClient;
  readonly #presence: RedisPresence;
  /** The last known list, used while Redis is unavailable. */
  #published: string[] = [];
  readonly #access: Access;
  readonly #found = new PromiseCache<string[]>({ ttlMs: TTL_MS, maxEntries: MAX_SESSIONS });

  constructor({ kubernetes, redis, presence, access }: NamespacesOptions) {
    this.#kubernetes = kubernetes;
    this.#redis = redis;
    this.#presence = presence;
    this.#access = access;
  }

  /** The first one is the default. */
  list(session: Session): Promise<string[]> {
    return this.#found.get(session.digest, () => this.#find(session));
  }

  async #find(session: Session): Promise<string[]> {
    const [existing, published] = await Promise.all([this.#listExisting(session), this.#readPublished()]);
    const candidates = chooseCandidates({ own: session.own, existing, published });
    if (await this.#access.allows(session, null, CONSOLE_RIGHTS.seeNamespace)) return candidates;
    const limit = new ConcurrencyLimit(CONCURRENCY);
    const allowed = await Promise.all(
      candidates.map((namespace) => limit.run(() => this.#access.may(session, namespace, 'seeNamespace'))),
    );
    return candidates.filter((_, index) => allowed[index]);
  }

  async #readPublished(): Promise<string[]> {
    this.#published = await this.#presence.read(() => readWorkspaces(this.#redis), this.#published);
    return this.#published;
  }

  /** null if the user cannot list namespaces. */
  async #listExisting({ token }: Session): Promise<string[] | null> {
    try {
      return await this.#kubernetes.listNamespaces(token);
    } catch (error) {
      if (error instanceof KubernetesError && error.status === 403) return null;
      throw error;
    }
  }
}

/** Namespaces with Berth objects, or all if there are none. The user's own are first. Pure. */
export function chooseCandidates({
  own,
  existing,
  published,
}: {
  own: readonly string[];
  existing: readonly string[] | null;
  published: readonly string[];
}): string[] {
  const known = existing === null ? [...published] : existing.filter((name) => published.includes(name));
  const offered = known.length > 0 ? known : [...(existing ?? [])];
  const rest = offered.filter((name) => !own.includes(name)).sort();
  return [...own, ...rest].slice(0, MAX_NAMESPACES);
}
