/** Usage on its way to Redis: batched briefly, settled exactly once, and never blocking a request. */
import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { sleep, systemClock } from '../../kit/clock.ts';
import { type Backoff, backoffDelay } from '../../kit/retry.ts';
import { type Settlement, settle } from '../../redis/admission/admission-calls.ts';
import { isRedisAway, type RedisClient } from '../../redis/client.ts';
import { isCount } from '../../redis/untrusted-values.ts';
import type { Logger } from '../telemetry/log.ts';
import type { GatewayMetrics } from '../telemetry/metrics.ts';
import type { AdmittedBudgets, Payer } from './account.ts';
import { PriceRounding } from './price-rounding.ts';

export interface SettlementsOptions {
  redis: RedisClient;
  log: Logger;
  metrics: GatewayMetrics;
  timing?: Partial<SettlementTiming>;
}

export interface SettlementTiming {
  collectMs: number;
  backoff: Backoff;
  /** Repeats are recognized for 10 minutes; after that, usage could be counted twice. */
  giveUpMs: number;
}

const TIMING: SettlementTiming = {
  collectMs: 100,
  backoff: { baseMs: 1_000, maxMs: 5_000 },
  giveUpMs: 9 * 60_000,
};

interface Open {
  namespace: string;
  sha256: string;
  tokens: number;
  micros: number;
  /** Those that Redis named last. */
  budgets: AdmittedBudgets | null;
}

/** What one request used. */
export interface UsedByRequest extends Payer {
  namespace: string;
  tokens: number;
  /** In millionths, including a fraction. */
  price: number;
}

/** The total, and what Redis was sent, in order. */
interface Tally {
  added: number;
  sent: number;
}

/** One key's tokens, and its millionths. */
interface KeyTokens extends Tally {
  micros: Tally;
  watchers: number;
}

/** What a reply of Redis does not include yet: a key's tokens, and millionths of all keys, which share their workspace's credit. */
export interface UnsettledWatch {
  /** A call is being sent. */
  mark(): void;
  /** Once it is answered. */
  read(): number;
  readMicros(): number;
  /** The key's own. */
  readOwnMicros(): number;
  close(): void;
}

const MAX_KEYS = 10_000;

export class Settlements {
  readonly #options: SettlementsOptions;
  readonly #timing: SettlementTiming;
  /** Not yet assigned a token, by key. */
  readonly #open = new Map<string, Open>();
  /** In flight, by key: one at a time, so that nothing piles up in an outage. */
  readonly #sending = new Map<string, Promise<void>>();
  readonly #keys = new Map<string, KeyTokens>();
  /** What Redis said last of each key's budgets. */
  readonly #budgets = new LRUCache<string, AdmittedBudgets>({ max: MAX_KEYS });
  readonly #micros: Tally = { added: 0, sent: 0 };
  readonly #rounding = new PriceRounding();
  #timer: NodeJS.Timeout | null = null;
  readonly #closing = new AbortController();

  constructor(options: SettlementsOptions) {
    this.#options = options;
    this.#timing = { ...TIMING, ...options.timing };
  }

  /** Must be closed, whatever the result of the call. */
  watch(sha256: string): UnsettledWatch {
    const counts = this.#tokensOf(sha256);
    counts.watchers++;
    const micros = this.#micros;
    let known = counts.sent;
    let knownMicros = micros.sent;
    let knownOwn = counts.micros.sent;
    return {
      mark: () => {
        known = counts.sent;
        knownMicros = micros.sent;
        knownOwn = counts.micros.sent;
      },
      read: () => counts.added - known,
      readMicros: () => micros.added - knownMicros,
      readOwnMicros: () => counts.micros.added - knownOwn,
      close: () => {
        counts.watchers--;
        this.#tidy(sha256);
      },
    };
  }

  /** A key was admitted: what Redis says of its budgets; null: it has none. */
  note(sha256: string, budgets: AdmittedBudgets | null): void {
    if (!budgets) this.#budgets.delete(sha256);
    else if (budgets.asOf >= (this.#budgets.get(sha256)?.asOf ?? 0)) this.#budgets.set(sha256, budgets);
  }

  /** Returns the whole millionths that the request is charged. */
  charge({ namespace, keyHash: sha256, budgets = null, tokens: used, price }: UsedByRequest): number {
    const micros = this.#rounding.round(sha256, price);
    const tokens = isCount(used) ? used : 0;
    // Redis would refuse it, and with it what other requests of the key used.
    if (tokens !== used) this.#lose(used, 'not a whole number of tokens');
    if (tokens > 0 || micros > 0) this.#add({ namespace, sha256, tokens, micros, budgets });
    return micros;
  }

  #add({ namespace, sha256, tokens, micros, budgets: own }: Open): void {
    const budgets = findNewest(own, this.#budgets.get(sha256) ?? null);
    const counts = this.#tokensOf(sha256);
    counts.added += tokens;
    counts.micros.added += micros;
    this.#micros.added += micros;
    const open = this.#open.get(sha256);
    if (open) {
      open.tokens = Math.min(open.tokens + tokens, Number.MAX_SAFE_INTEGER);
      open.micros = Math.min(open.micros + micros, Number.MAX_SAFE_INTEGER);
      open.budgets = findNewest(open.budgets, budgets);
    } else this.#open.set(sha256, { namespace, sha256, tokens, micros, budgets });
    if (isUrgent(this.#open.get(sha256)!)) this.#begin(sha256);
    else this.#schedule();
  }

  /** Settles what is left; pending retries run now, once. */
  async close(): Promise<void> {
    this.#closing.abort();
    while (this.#open.size > 0 || this.#sending.size > 0) {
      this.#flush();
      await Promise.all(this.#sending.values());
    }
  }

  #tokensOf(sha256: string): KeyTokens {
    const known = this.#keys.get(sha256);
    if (known) return known;
    const counts = { added: 0, sent: 0, micros: { added: 0, sent: 0 }, watchers: 0 };
    this.#keys.set(sha256, counts);
    return counts;
  }

  #tidy(sha256: string): void {
    const isIdle = !this.#open.has(sha256) && !this.#sending.has(sha256);
    if (isIdle && this.#keys.get(sha256)?.watchers === 0) this.#keys.delete(sha256);
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => this.#flush(), this.#timing.collectMs);
  }

  #flush(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    for (const key of this.#open.keys()) this.#begin(key);
  }

  #begin(key: string): void {
    const entry = this.#open.get(key);
    if (!entry || this.#sending.has(key)) return;
    this.#open.delete(key);
    const { budgets, ...used } = entry;
    const settlement = { ...used, token: randomUUID(), ...(budgets && { budgets: budgets.text }) };
    const sending = this.#send(settlement).finally(() => {
      this.#sending.delete(key);
      this.#tidy(key);
      const next = this.#open.get(key);
      if (next && isUrgent(next)) this.#begin(key);
      else if (next) this.#schedule();
    });
    this.#sending.set(key, sending);
  }

  async #send(settlement: Settlement): Promise<void> {
    const { redis } = this.#options;
    const { sha256, tokens, micros } = settlement;
    const counts = this.#tokensOf(sha256);
    const giveUpAt = performance.now() + this.#timing.giveUpMs;
    for (let attempt = 1; ; attempt++) {
      counts.sent += tokens;
      counts.micros.sent += micros;
      this.#micros.sent += micros;
      try {
        await settle(redis, settlement);
        return;
      } catch (error) {
        counts.sent -= tokens;
        counts.micros.sent -= micros;
        this.#micros.sent -= micros;
        if (!isRedisAway(error) || this.#closing.signal.aborted || performance.now() > giveUpAt) {
          counts.added -= tokens;
          counts.micros.added -= micros;
          this.#micros.added -= micros;
          this.#lose(tokens, (error as Error).message);
          return;
        }
      }
      const delayMs = backoffDelay(this.#timing.backoff, attempt);
      await sleep(systemClock, delayMs, this.#closing.signal);
    }
  }

  #lose(tokens: number, reason: string): void {
    this.#options.metrics.settlementsLost.inc();
    this.#options.log.error({ tokens, reason }, 'settling usage failed');
  }
}

/** A busy key is admitted at least that often: a lease lasts half as long. */
const FRESH_MS = 200;
/** The part of what a budget has left that may be unsettled. */
const UNSETTLED_PARTS = 64;

/** Those of the later admission. */
const findNewest = (first: AdmittedBudgets | null, second: AdmittedBudgets | null): AdmittedBudgets | null =>
  !first || (second && second.asOf >= first.asOf) ? second : first;

/**
 * Other replicas admit requests until a budget is used up, so what a key with a budget used is settled at once, unless Redis said
 * a moment ago, to whichever request of the key, that it is a small part of what is left (decision 0390).
 */
function isUrgent({ micros, budgets }: Open): boolean {
  if (!budgets || micros === 0) return false;
  return performance.now() - budgets.asOf > FRESH_MS || micros > budgets.leftMicros / UNSETTLED_PARTS;
}
