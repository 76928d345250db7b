/** Admits requests by key and limits: one call to Redis, or cached verdicts while Redis is down (docs/api.md, "Authentication", "Limits"). */
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import {
  type Admission,
  type AdmissionRequest,
  admit,
  type Counted,
  uncount,
} from '../../redis/admission/admission-calls.ts';
import { isRedisAway, type RedisClient } from '../../redis/client.ts';
import type { Settlements, UnsettledWatch } from '../account/settlements.ts';
import { ApiError } from '../http/error-response.ts';
import type { GatewayMiddleware } from '../http/exchange.ts';
import { isSpoken, type Route } from '../http/routes.ts';
import { refuseAsUnavailable } from '../http/unavailability.ts';
import type { Logger } from '../telemetry/log.ts';
import type { GatewayMetrics } from '../telemetry/metrics.ts';
import { inSpan } from '../tracing/span.ts';
import {
  buildLimitHeaders,
  decideAdmission,
  readApiKey,
  refuseCredit,
  refuseKey,
} from './admission-decision.ts';

export interface AdmissionsOptions {
  redis: RedisClient;
  log: Logger;
  metrics: GatewayMetrics;
  /** Usage that has not reached Redis yet. */
  settlements: Pick<Settlements, 'watch'>;
  /** Unix milliseconds. */
  clock?: () => number;
}

export interface Admitted {
  /** Headers of the response, alternating names and values. */
  headers: readonly string[];
  /** Stops counting the request against RPM because the engine failed it. null: it was not counted. */
  uncount: (() => void) | null;
  /** Priority of the key, higher first. */
  priority: number;
  /** Name of the APIKey. */
  keyName: string;
}

/** The last verdict of Redis on a key. */
interface Memory {
  seenAt: number;
  /** Unix seconds; 0 = never. */
  expiresAt: number;
  creditLeft: boolean;
  priority: number;
  keyName: string;
}

const MEMORY_MS = 5 * 60_000;
const MAX_REMEMBERED = 10_000;

export class Admissions {
  readonly #options: AdmissionsOptions;
  readonly #clock: () => number;
  readonly #memories = new LRUCache<string, Memory>({ max: MAX_REMEMBERED });
  #isAway = false;

  constructor(options: AdmissionsOptions) {
    this.#options = options;
    this.#clock = options.clock ?? Date.now;
  }

  /** Throws ApiError. */
  admit({ namespace, sha256, counted }: AdmissionRequest): Promise<Admitted> {
    const watch = counted === 'all' ? this.#options.settlements.watch(sha256) : null;
    const request = { namespace, sha256, counted, onSend: watch?.mark };
    return admit(this.#options.redis, request).then(
      (admission) => {
        try {
          return this.#evaluate(request, admission, watch);
        } finally {
          watch?.close();
        }
      },
      (error) => {
        watch?.close();
        return this.#admitWhileAway(request, error);
      },
    );
  }

  /** Throws ApiError, and errors of Redis other than an outage. */
  #admitWhileAway(request: AdmissionRequest, error: unknown): Admitted {
    if (!isRedisAway(error)) throw error;
    this.#setAway(true, error as Error);
    const { priority, keyName } = this.#admitFromMemory(request);
    return { headers: [], uncount: null, priority, keyName };
  }

  #evaluate(request: AdmissionRequest, admission: Admission, watch: UnsettledWatch | null): Admitted {
    if (this.#isAway) this.#setAway(false);
    this.#remember(request.sha256, admission);
    const { counted } = request;
    const terms = {
      spends: counted === 'all',
      minute: 'verdict' as const,
      unsettled: watch?.read() ?? 0,
      now: this.#clock(),
    };
    const refusal = decideAdmission(admission, terms);
    const isCounted = counted !== 'no' && admission.verdict === 'ok';
    const uncount = isCounted ? () => this.#uncount(request, admission.rpm.resetAt) : null;
    if (refusal) {
      uncount?.();
      throw refusal;
    }
    const { priority, keyName } = admission;
    return { headers: uncount ? buildLimitHeaders(admission) : [], uncount, priority, keyName };
  }

  /** Returns at once; a request that stays counted is harmless. */
  #uncount({ namespace, sha256 }: AdmissionRequest, resetAt: number): void {
    const { redis, log } = this.#options;
    uncount(redis, { namespace, sha256, resetAt }).catch((error) => {
      if (!isRedisAway(error)) log.error({ err: error }, 'correcting the request count failed');
    });
  }

  #remember(sha256: string, admission: Admission): void {
    const { verdict, expiresAt, creditLeft, priority, keyName } = admission;
    if (verdict === 'unknown_key' || verdict === 'disabled') {
      this.#memories.delete(sha256);
      return;
    }
    const known = this.#memories.get(sha256);
    if (!known) {
      this.#memories.set(sha256, { seenAt: this.#clock(), expiresAt, creditLeft, priority, keyName });
      return;
    }
    known.seenAt = this.#clock();
    known.expiresAt = expiresAt;
    known.creditLeft = creditLeft;
    known.priority = priority;
    known.keyName = keyName;
  }

  /** Limits are suspended; expiry and the last known credit still apply (decision 0019). */
  #admitFromMemory({ sha256, counted }: AdmissionRequest): Memory {
    const now = this.#clock();
    const memory = this.#memories.get(sha256);
    if (!memory || now - memory.seenAt > MEMORY_MS)
      throw refuseAsUnavailable('database', 'API keys cannot be verified at the moment.');
    if (memory.expiresAt > 0 && now >= memory.expiresAt * 1000) throw refuseKey('has expired');
    if (counted === 'all' && !memory.creditLeft) throw refuseCredit();
    this.#options.metrics.admittedWithoutRedis.inc();
    return memory;
  }

  #setAway(isAway: boolean, error?: Error): void {
    if (this.#isAway === isAway) return;
    this.#isAway = isAway;
    const { log, metrics } = this.#options;
    metrics.redisAway.set(isAway ? 1 : 0);
    if (isAway)
      log.warn({ reason: error?.message }, 'Redis is unavailable: serving known keys without limits');
    else log.info('Redis recovered: limits are enforced again');
  }
}

/** Every route requires a key of the deployment's workspace (docs/api.md, "Authentication"). */
export const authenticateRequests =
  (admissions: Admissions, config: () => GatewayConfig): GatewayMiddleware =>
  async (ctx, next) => {
    const { state } = ctx;
    const sha256 = hash('sha256', readApiKey(ctx.req.headers), 'hex');
    const counted = decideCounted(state.route, config());
    let admitted: Admitted;
    try {
      const request = { namespace: config().namespace, sha256, counted };
      admitted = await inSpan(state.exchange.span, 'admission', () => admissions.admit(request));
    } catch (error) {
      // A key over a limit is authenticated, and counts in the deployment's usage.
      if (error instanceof ApiError && LIMITS.has(error.code)) state.keyHash = sha256;
      throw error;
    }
    state.exchange.check();
    state.keyHash = sha256;
    state.keyName = admitted.keyName;
    state.priority = admitted.priority;
    state.exchange.sendContinue();
    state.exchange.limitHeaders = admitted.headers;
    state.exchange.uncount = admitted.uncount;
    if (admitted.headers.length > 0) state.exchange.headers.push(...admitted.headers);
    await next();
  };

const LIMITS: ReadonlySet<string> = new Set(['rate_limit_exceeded', 'insufficient_quota']);

/** What will be refused anyway is not counted. */
function decideCounted(route: Route, config: GatewayConfig): Counted {
  if (!isServed(route, config)) return 'no';
  return route.spendsNothing ? 'requests' : 'all';
}

const isServed = (route: Route, config: GatewayConfig): boolean =>
  route.isCounted &&
  !config.paused &&
  !config.deleting &&
  (route.kinds === null || route.kinds.includes(config.kind)) &&
  isSpoken(route, config);
