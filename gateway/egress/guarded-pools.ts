/** A pool of guarded connections for each origin, of the latest origins only: tenants may name any number of them. */
import { LRUCache } from 'lru-cache';
import { Pool } from 'undici';
import { buildGuardedConnector, createGuardedClient, type GuardOptions } from './guarded-connector.ts';

export interface GuardedPoolsOptions extends GuardOptions {
  connectionsPerOrigin: number;
  /** More than can be in use at once. */
  maxOrigins: number;
}

const MAX_KEEP_ALIVE_MS = 10_000;

export class GuardedPools {
  readonly #options: GuardedPoolsOptions;
  readonly #connect: ReturnType<typeof buildGuardedConnector>;
  readonly #pools: LRUCache<string, Pool>;

  constructor(options: GuardedPoolsOptions) {
    this.#options = options;
    this.#connect = buildGuardedConnector(options);
    this.#pools = new LRUCache({
      max: options.maxOrigins,
      // What is under way in it ends in peace.
      dispose: (pool, _, reason) => {
        if (reason === 'evict') pool.close().catch(() => {});
      },
    });
  }

  get size(): number {
    return this.#pools.size;
  }

  get(origin: string): Pool {
    const known = this.#pools.get(origin);
    if (known) return known;
    const pool = this.#create(origin);
    this.#pools.set(origin, pool);
    return pool;
  }

  /** Breaks off what is under way. */
  async destroy(): Promise<void> {
    const pools = [...this.#pools.values()];
    this.#pools.clear();
    await Promise.all(pools.map((pool) => pool.destroy()));
  }

  #create(origin: string): Pool {
    return new Pool(origin, {
      connect: this.#connect,
      allowH2: false,
      connections: this.#options.connectionsPerOrigin,
      pipelining: 1,
      // The request's own deadline bounds it all.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveMaxTimeout: MAX_KEEP_ALIVE_MS,
      factory: (place, options) => createGuardedClient(place, options as object, this.#options),
    });
  }
}
