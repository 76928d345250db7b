/** Admits known keys without limits while Redis is unavailable: expiry and the last known credit still apply (decision 0019). */
import { LRUCache } from 'lru-cache';
import type { Admission, AdmissionRequest } from '../../redis/admission/admission-calls.ts';
import { refuseAsUnavailable } from '../http/unavailability.ts';
import type { Logger } from '../telemetry/log.ts';
import type { GatewayMetrics } from '../telemetry/metrics.ts';
import { refuseCredit, refuseKey } from './admission-decision.ts';

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

export class AdmissionMemory {
  readonly #options: { log: Logger; metrics: GatewayMetrics };
  /** Unix milliseconds. */
  readonly #clock: () => number;
  readonly #memories = new LRUCache<string, Memory>({ max: MAX_REMEMBERED });
  #isAway = false;

  constructor(options: { log: Logger; metrics: GatewayMetrics }, clock: () => number) {
    this.#options = options;
    this.#clock = clock;
  }

  /** Redis has answered. */
  remember(sha256: string, admission: Admission): void {
    if (this.#isAway) this.#setAway(false);
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

  /** Redis is unavailable. Throws ApiError. */
  admit({ sha256, counted }: AdmissionRequest, reason: string): { priority: number; keyName: string } {
    if (!this.#isAway) this.#setAway(true, reason);
    const now = this.#clock();
    const memory = this.#memories.get(sha256);
    if (!memory || now - memory.seenAt > MEMORY_MS)
      throw refuseAsUnavailable('database', 'API keys cannot be verified at the moment.');
    if (memory.expiresAt > 0 && now >= memory.expiresAt * 1000) throw refuseKey('has expired');
    if (counted === 'all' && !memory.creditLeft) throw refuseCredit();
    this.#options.metrics.admittedWithoutRedis.inc();
    return memory;
  }

  #setAway(isAway: boolean, reason?: string): void {
    this.#isAway = isAway;
    const { log, metrics } = this.#options;
    metrics.redisAway.set(isAway ? 1 : 0);
    if (isAway) log.warn({ reason }, 'Redis is unavailable: serving known keys without limits');
    else log.info('Redis recovered: limits are enforced again');
  }
}
