/** Keep-alive connections to other gateways, a client for each origin. */
import type { Dispatcher } from 'undici';
import { Http1Client } from '../../kit/http1-client.ts';
import { joinAnswers } from '../../kit/joined-answers.ts';

/** A pod that is gone must not delay a request. */
const CONNECT_TIMEOUT_MS = 2_000;

export interface PoolsOptions {
  /** See Http1ClientOptions. */
  onResend?: (() => void) | undefined;
}

export class Pools {
  readonly #entries = new Map<string, Entry>();
  readonly #onResend: () => void;

  constructor({ onResend = () => {} }: PoolsOptions = {}) {
    this.#onResend = onResend;
  }

  get(origin: string): Dispatcher {
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
    await Promise.all(entries.map(({ client }) => client.destroy()));
  }

  #open(origin: string): Entry {
    const client = new Http1Client(origin, {
      onResend: this.#onResend,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
    });
    const entry = { client, pool: client.compose(joinAnswers), usedAt: 0 };
    this.#entries.set(origin, entry);
    return entry;
  }

  #closeIf(isUnwanted: (origin: string, usedAt: number) => boolean): void {
    for (const [origin, { client, usedAt }] of this.#entries) {
      if (!isUnwanted(origin, usedAt)) continue;
      this.#entries.delete(origin);
      void client.close();
    }
  }
}

interface Entry {
  client: Http1Client;
  pool: Dispatcher;
  usedAt: number;
}
