/** Admits requests by key and limits: a lease, one call to Redis, or cached verdicts while Redis is down (docs/api.md, "Authentication", "Limits"). */
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { type Clock, systemClock } from '../../kit/clock.ts';
import {
  type Admission,
  type AdmissionRequest,
  admit,
  type Counted,
  uncount,
} from '../../redis/admission/admission-calls.ts';
import { isRedisAway, type RedisClient } from '../../redis/client.ts';
import type { Settlements } from '../account/settlements.ts';
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
import { type HeldLease, type KeyState, Leases } from './leases.ts';

export interface AdmissionsOptions {
  redis: RedisClient;
  log: Logger;
  metrics: GatewayMetrics;
  /** Usage that has not reached Redis yet. */
  settlements: Pick<Settlements, 'watch'>;
  /** Unix milliseconds. */
  clock?: (() => number) | undefined;
  /** For leases. */
  waits?: Clock | undefined;
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
  readonly #leases: Leases<Promise<Admitted>>;
  #isAway = false;

  constructor(options: AdmissionsOptions) {
    this.#options = options;
    this.#clock = options.clock ?? Date.now;
    this.#leases = new Leases(options.waits ?? systemClock);
  }

  /** Throws ApiError. */
  admit({ namespace, sha256, counted }: AdmissionRequest): Promise<Admitted> {
    if (counted === 'all') return this.#admitSpending({ namespace, sha256, counted });
    const request = { namespace, sha256, counted };
    return admit(this.#options.redis, request).then(
      (admission) => this.#evaluate(request, admission, 0),
      (error) => this.#admitWhileAway(request, error),
    );
  }

  /**
   * Keys or credit were published, or may have been: what Redis answered before no longer holds. Before the first call, which
   * tells that later changes will be heard of, nothing is leased.
   */
  refresh(): Promise<void> {
    return this.#leases.drop();
  }

  #admitSpending(request: AdmissionRequest): Promise<Admitted> {
    const leases = this.#leases;
    const state = leases.find(request.sha256);
    const held = leases.take(state);
    if (held) return held.answer;
    const refused = leases.findRefused(state);
    const terms = { spends: true, minute: 'verdict' as const, now: this.#clock() };
    if (refused) return Promise.reject(decideAdmission(refused, terms));
    return this.#askToSpend(request, state);
  }

  async #askToSpend(
    { namespace, sha256, counted }: AdmissionRequest,
    state: KeyState<Promise<Admitted>>,
  ): Promise<Admitted> {
    const leases = this.#leases;
    const waits = this.#options.waits ?? systemClock;
    const watch = this.#options.settlements.watch(sha256);
    const leased = leases.startAsking(state);
    let sentAt = 0;
    let edition = 0;
    const onSend = () => {
      watch.mark();
      sentAt = waits.now();
      edition = leases.edition;
    };
    const request = { namespace, sha256, counted, leased, onSend };
    let lease: HeldLease<Promise<Admitted>> | null = null;
    try {
      const admission = await admit(this.#options.redis, request);
      const isCurrent = edition === leases.edition;
      if (admission.verdict === 'tpd' && isCurrent) leases.holdRefused(state, admission, sentAt);
      const admitted = this.#evaluate(request, admission, watch.read());
      if (!admission.lease) return admitted;
      const { requests } = admission.lease;
      const { resetAt } = admission.rpm;
      const giveBack = (count: number) => this.#uncount(request, resetAt, count);
      if (!isCurrent || sentAt + admission.lease.ms <= waits.now()) {
        void giveBack(requests);
        return admitted;
      }
      const uncountLeased = () => {
        if (lease && state.lease === lease) lease.left++;
        else void giveBack(1);
      };
      const answer = Promise.resolve({ ...admitted, uncount: uncountLeased });
      lease = leases.hold(state, admission.lease, admission, { sentAt, answer, watch, giveBack });
      return admitted;
    } catch (error) {
      if (error instanceof ApiError) throw error;
      return this.#admitWhileAway(request, error);
    } finally {
      if (leased > 0) state.isAsking = false;
      if (!lease) watch.close();
    }
  }

  /** Throws ApiError, and errors of Redis other than an outage. */
  #admitWhileAway(request: AdmissionRequest, error: unknown): Admitted {
    if (!isRedisAway(error)) throw error;
    this.#setAway(true, error as Error);
    const { priority, keyName } = this.#admitFromMemory(request);
    return { headers: [], uncount: null, priority, keyName };
  }

  #evaluate(request: AdmissionRequest, admission: Admission, unsettled: number): Admitted {
    if (this.#isAway) this.#setAway(false);
    this.#remember(request.sha256, admission);
    const { counted } = request;
    const terms = {
      spends: counted === 'all',
      minute: 'verdict' as const,
      unsettled,
      now: this.#clock(),
    };
    const refusal = decideAdmission(admission, terms);
    const isCounted = counted !== 'no' && admission.verdict === 'ok';
    const uncount = isCounted ? () => void this.#uncount(request, admission.rpm.resetAt) : null;
    if (refusal) {
      const { resetAt } = admission.rpm;
      if (isCounted) void this.#uncount(request, resetAt, 1 + (admission.lease?.requests ?? 0));
      throw refusal;
    }
    const { priority, keyName } = admission;
    return { headers: uncount ? buildLimitHeaders(admission) : [], uncount, priority, keyName };
  }

  /** Never throws: a request that stays counted is harmless. */
  async #uncount({ namespace, sha256 }: AdmissionRequest, resetAt: number, count = 1): Promise<void> {
    const { redis, log } = this.#options;
    await uncount(redis, { namespace, sha256, resetAt }, count).catch((error) => {
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
