/** Usage on its way to Redis: added up for a moment, settled once, and never in a request's way. */
import { randomUUID } from 'node:crypto';
import { type Settlement, settle } from '../redis/calls.ts';
import { isRedisAway, type RedisClient } from '../redis/client.ts';
import type { Logger } from './log.ts';
import type { GatewayMetrics } from './metrics.ts';

export interface SettlementsOptions {
  redis: RedisClient;
  log: Logger;
  metrics: GatewayMetrics;
  timing?: Partial<SettlementTiming>;
}

export interface SettlementTiming {
  collectMs: number;
  retryMs: number;
  /** Repeats are recognised for 10 minutes; after that, counting twice would be possible. */
  giveUpMs: number;
}

const TIMING: SettlementTiming = { collectMs: 100, retryMs: 1_000, giveUpMs: 9 * 60_000 };

interface Open {
  namespace: string;
  sha256: string;
  tokens: number;
  micros: number;
}

export class Settlements {
  readonly #options: SettlementsOptions;
  readonly #timing: SettlementTiming;
  /** Not yet given a token, by key. */
  readonly #open = new Map<string, Open>();
  /** Under way, by key: one at a time, so that an outage piles nothing up. */
  readonly #sending = new Map<string, Promise<void>>();
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(options: SettlementsOptions) {
    this.#options = options;
    this.#timing = { ...TIMING, ...options.timing };
  }

  add({ namespace, sha256, tokens, micros }: Open): void {
    const open = this.#open.get(sha256);
    if (open) {
      open.tokens += tokens;
      open.micros += micros;
      return;
    }
    this.#open.set(sha256, { namespace, sha256, tokens, micros });
    this.#schedule();
  }

  /** Settles what is left; gives up at once what Redis does not take. */
  async close(): Promise<void> {
    this.#isClosed = true;
    while (this.#open.size > 0 || this.#sending.size > 0) {
      this.#flush();
      await Promise.all(this.#sending.values());
    }
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => this.#flush(), this.#timing.collectMs);
  }

  #flush(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    for (const [key, entry] of this.#open) {
      if (this.#sending.has(key)) continue;
      this.#open.delete(key);
      const sending = this.#send({ ...entry, token: randomUUID() }).finally(() => {
        this.#sending.delete(key);
        if (this.#open.has(key)) this.#schedule();
      });
      this.#sending.set(key, sending);
    }
  }

  async #send(settlement: Settlement): Promise<void> {
    const { redis, log, metrics } = this.#options;
    const giveUpAt = performance.now() + this.#timing.giveUpMs;
    for (;;) {
      try {
        await settle(redis, settlement);
        return;
      } catch (error) {
        if (!isRedisAway(error) || this.#isClosed || performance.now() > giveUpAt) {
          metrics.settlementsLost.inc();
          log.error(
            { tokens: settlement.tokens, reason: (error as Error).message },
            'usage could not be settled',
          );
          return;
        }
      }
      await new Promise((resolve) => setTimeout(resolve, this.#timing.retryMs));
    }
  }
}
