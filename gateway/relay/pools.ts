/** Keep-alive connections to other gateways and to the engine, a pool for each origin. */
import { Pool } from 'undici';

const CONNECT_TIMEOUT_MS = 2_000;

export class Pools {
  readonly #pools = new Map<string, Pool>();

  get(origin: string): Pool {
    let pool = this.#pools.get(origin);
    if (!pool) {
      // Own deadlines bound a request; undici's would cut answers that take their time.
      pool = new Pool(origin, {
        pipelining: 1,
        headersTimeout: 0,
        bodyTimeout: 0,
        connect: { timeout: CONNECT_TIMEOUT_MS, noDelay: true },
      });
      this.#pools.set(origin, pool);
    }
    return pool;
  }

  /** Lets go of all pools but these; what they carry ends in peace. */
  keepOnly(origins: ReadonlySet<string>): void {
    for (const [origin, pool] of this.#pools) {
      if (origins.has(origin)) continue;
      this.#pools.delete(origin);
      void pool.close().catch(() => {});
    }
  }

  async destroy(): Promise<void> {
    const pools = [...this.#pools.values()];
    this.#pools.clear();
    await Promise.all(pools.map((pool) => pool.destroy().catch(() => {})));
  }
}
