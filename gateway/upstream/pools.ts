/** Keep-alive connections to other gateways, a pool for each origin. */
import { type Client, Pool } from 'undici';
import { connectHTTP1 } from '../../kit/http1.ts';
import { joinAnswers } from '../../kit/joined-answers.ts';
import { ResendingClient } from './resending-client.ts';

/** A pod that is gone must not delay a request. */
const CONNECT_TIMEOUT_MS = 2_000;

/** vLLM describes each of up to 2,048 vectors that it sends as bytes in a header. */
const MAX_HEADER_BYTES = 512 * 1024;

export interface PoolsOptions {
  /** A request is sent once more: see `ResendingClient`. */
  onResend?: (() => void) | undefined;
}

export class Pools {
  readonly #entries = new Map<string, { pool: Pool; usedAt: number }>();
  readonly #onResend: () => void;

  constructor({ onResend = () => {} }: PoolsOptions = {}) {
    this.#onResend = onResend;
  }

  get(origin: string): Pool {
    const entry = this.#entries.get(origin) ?? this.#open(origin);
    entry.usedAt = performance.now();
    return entry.pool;
  }

  /** Closes all pools but these; requests in flight finish. */
  keepOnly(origins: ReadonlySet<string>): void {
    this.#closeIf((origin) => !origins.has(origin));
  }

  /** Closes pools unused for this long. */
  closeIdle(maxIdleMs: number): void {
    const oldest = performance.now() - maxIdleMs;
    this.#closeIf((_, usedAt) => usedAt < oldest);
  }

  async destroy(): Promise<void> {
    const entries = [...this.#entries.values()];
    this.#entries.clear();
    await Promise.all(entries.map(({ pool }) => pool.destroy().catch(() => {})));
  }

  #open(origin: string): { pool: Pool; usedAt: number } {
    // Requests have deadlines of their own; undici's would cut slow responses.
    const pool = new Pool(origin, {
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: MAX_HEADER_BYTES,
      connect: connectHTTP1({ timeout: CONNECT_TIMEOUT_MS }),
      factory: (url, options) => new ResendingClient(url, options as Client.Options, this.#onResend),
    }).compose(joinAnswers) as Pool;
    const entry = { pool, usedAt: 0 };
    this.#entries.set(origin, entry);
    return entry;
  }

  #closeIf(isUnwanted: (origin: string, usedAt: number) => boolean): void {
    for (const [origin, { pool, usedAt }] of this.#entries) {
      if (!isUnwanted(origin, usedAt)) continue;
      this.#entries.delete(origin);
      void pool.close().catch(() => {});
    }
  }
}
