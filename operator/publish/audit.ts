/** Compares Redis with the desired state, so that nothing stays unpublished, whatever prevented its write. */
import { configKeys } from '../../api/redis-keys.ts';
import type { RedisClient } from '../../redis/client.ts';
import { readHosts } from '../../redis/publication/published.ts';
import { type DesiredState, type Target, targetKey } from './desired-state.ts';
import { Retries } from './retries.ts';

const INTERVAL_MS = 10_000;
const MAX_REPAIR_INTERVAL_MS = 600_000;

/** What an audit found to differ. */
export interface Findings {
  /** To be rewritten now, with increasing delays. */
  due: Target[];
  /**
   * Keys of those that were rewritten before. A remaining difference belongs to no target, such as
   * a host of a deployment that is gone.
   */
  again: string[];
}

/** Compares every 10 s; see `findDifferences`. */
export class Audits {
  readonly #redis: RedisClient;
  readonly #desired: DesiredState;
  readonly #intervalMs: number;
  /** Differences in the last audit although their write succeeded. */
  readonly #repairs: Retries;
  #last = 0;

  constructor(redis: RedisClient, desired: DesiredState, intervalMs = INTERVAL_MS) {
    this.#redis = redis;
    this.#desired = desired;
    this.#intervalMs = intervalMs;
    this.#repairs = new Retries({ baseMs: intervalMs, maxMs: MAX_REPAIR_INTERVAL_MS });
  }

  get isDue(): boolean {
    return Date.now() - this.#last >= this.#intervalMs;
  }

  /** `isWritten`: whether the last attempt to write a target succeeded. Throws while Redis is unavailable. */
  async run(isWritten: (target: Target) => boolean): Promise<Findings> {
    this.#last = Date.now();
    const written = (await findDifferences(this.#redis, this.#desired)).filter(isWritten);
    this.#repairs.retain(new Set(written.map(targetKey)));
    const due = written.filter((target) => this.#repairs.isDue(targetKey(target)));
    const again = due.filter((target) => this.#repairs.note(target) > 1);
    return { due, again: again.map(targetKey) };
  }
}

interface Held {
  /** Host → `deployment/namespace/name`. */
  hosts: Map<string, string>;
  byNamespace: Map<string, { names: string[]; apiKeys: string[] }>;
}

/** Differences in what gateways and the front need to admit a request; throws while Redis is unavailable. */
export async function findDifferences(redis: RedisClient, desired: DesiredState): Promise<Target[]> {
  const held = await readHeld(redis, desired.namespaces());
  const unseen = desired.unseen();
  const differences = new Map<string, Target>();
  const note = (target: Target) => differences.set(targetKey(target), target);
  /** Hosts of all deployments that should have one, by the same key as above. */
  const wantedHosts = new Map<string, string | undefined>();
  const unreadable = new Set<string>();
  for (const [namespace, { names, apiKeys }] of held.byNamespace) {
    if (unseen.has(namespace)) continue;
    const wantedKeys = desired.apiKeys(namespace);
    if (apiKeys.length !== wantedKeys.size || apiKeys.some((key) => !wantedKeys.has(key)))
      note({ what: 'apikeys', namespace });
    const readable = desired.hosts(namespace);
    const present = new Set(names);
    const wanted = new Set(desired.names(namespace));
    for (const name of new Set([...present, ...wanted])) {
      const target: Target = { what: 'deployment', namespace, name };
      const key = targetKey(target);
      if (wanted.has(name) && !readable.has(name)) unreadable.add(key);
      else if (present.has(name) !== wanted.has(name)) note(target);
      const host = readable.get(name);
      if (host !== undefined && held.hosts.get(host) !== key) note(target);
      wantedHosts.set(key, host);
    }
  }
  for (const [host, key] of held.hosts) {
    const [, namespace = '', name = ''] = key.split('/');
    if (unseen.has(namespace) || unreadable.has(key) || wantedHosts.get(key) === host) continue;
    note({ what: 'deployment', namespace, name });
  }
  return [...differences.values()];
}

async function readHeld(redis: RedisClient, namespaces: Iterable<string>): Promise<Held> {
  const hosts = await readHosts(redis);
  const entries = await Promise.all(
    [...namespaces].map(async (namespace) => {
      const keys = configKeys(namespace);
      const [names, apiKeys] = await Promise.all([redis.hkeys(keys.deployments), redis.hkeys(keys.apiKeys)]);
      return [namespace, { names, apiKeys }] as const;
    }),
  );
  const keyOf = (name: { namespace: string; name: string }) => targetKey({ what: 'deployment', ...name });
  return {
    hosts: new Map([...hosts].map(([host, owner]) => [host, keyOf(owner)])),
    byNamespace: new Map(entries),
  };
}
