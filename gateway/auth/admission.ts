/** Admits requests by key and limits: one call to Redis, or cached verdicts while Redis is down (docs/api.md, "Authentication", "Limits"). */
import { LRUCache } from 'lru-cache';
import {
  type Admission,
  type AdmissionRequest,
  admit,
  uncount,
} from '../../redis/admission/admission-calls.ts';
import { isRedisAway, type RedisClient } from '../../redis/client.ts';
import type { Settlements, UnsettledWatch } from '../account/settlements.ts';
import { ApiError } from '../http/error-response.ts';
import { refuseAsUnavailable } from '../http/unavailability.ts';
import type { Logger } from '../telemetry/log.ts';
import type { GatewayMetrics } from '../telemetry/metrics.ts';

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
    if (admission.verdict !== 'ok') throw buildRefusal(admission);
    const { priority, keyName } = admission;
    if (request.counted === 'no') return { headers: [], uncount: null, priority, keyName };
    const uncount = () => this.#uncount(request, admission.rpm.resetAt);
    if (watch && admission.tpd.used + watch.read() >= admission.tpd.limit) {
      uncount();
      throw buildRefusal({
        ...admission,
        verdict: 'tpd',
        retryAfter: this.#secondsUntil(admission.tpd.resetAt),
      });
    }
    return { headers: buildLimitHeaders(admission), uncount, priority, keyName };
  }

  /** Returns at once; a request that stays counted is harmless. */
  #uncount({ namespace, sha256 }: AdmissionRequest, resetAt: number): void {
    const { redis, log } = this.#options;
    uncount(redis, { namespace, sha256, resetAt }).catch((error) => {
      if (!isRedisAway(error)) log.error({ err: error }, 'correcting the request count failed');
    });
  }

  #secondsUntil = (unixSeconds: number): number =>
    Math.max(1, unixSeconds - Math.floor(this.#clock() / 1000));

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

  /** Limits are suspended; expiry and the last known credit still apply. */
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

/** Requests left in this window, and when the tighter of both limits resets. */
function buildLimitHeaders({ rpm, tpd }: Admission): string[] {
  const isDayTighter = (tpd.limit - tpd.used) * rpm.limit < rpm.remaining * tpd.limit;
  return formatLimitHeaders(rpm.remaining, isDayTighter ? tpd.resetAt : rpm.resetAt);
}

const formatLimitHeaders = (remaining: number, resetAt: number): string[] => [
  'x-ratelimit-remaining',
  String(remaining),
  'x-ratelimit-reset',
  String(resetAt),
];

/** Builds the error for a verdict other than `ok`. */
export function buildRefusal(admission: Admission): ApiError {
  const { verdict, rpm, tpd, retryAfter } = admission;
  switch (verdict) {
    case 'expired':
      return refuseKey('has expired');
    case 'disabled':
      return refuseKey('is disabled');
    case 'credit':
      return refuseCredit();
    case 'rpm':
      return new ApiError(
        'rate_limit_exceeded',
        `This API key has reached its limit of ${rpm.limit} requests per minute; try again in ${retryAfter} s.`,
        { retryAfter, headers: formatLimitHeaders(0, rpm.resetAt) },
      );
    case 'tpd':
      return new ApiError(
        'rate_limit_exceeded',
        `This API key has reached its limit of ${tpd.limit} tokens per day; it resets in ${retryAfter} s.`,
        { retryAfter, headers: formatLimitHeaders(0, tpd.resetAt) },
      );
    default:
      return refuseKey('is not valid for this endpoint');
  }
}

const refuseKey = (why: string) => new ApiError('invalid_api_key', `The API key ${why}.`);
const refuseCredit = () => refuseAsUnavailable('credit', "The workspace's credit is used up.");
