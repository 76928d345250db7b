/** Admits known keys without limits while Redis is unavailable: expiry and the last known credit still apply (decision 0019). */
import { LRUCache } from 'lru-cache';
import type { Admission } from '../../redis/admission/admission-calls.ts';
import type { AdmittedBudgets } from '../account/account.ts';
import { refuseAsUnavailable } from '../http/unavailability.ts';
import type { Logger } from '../telemetry/log.ts';
import type { GatewayMetrics } from '../telemetry/metrics.ts';
import { refuseCredit, refuseKey } from './admission-decision.ts';
import { type DeploymentRequest, findForeignDeployment, type KeyScope, refuseBudget } from './key-scope.ts';

/** The last verdict of Redis on a key. */
interface Memory {
  seenAt: number;
  /** Unix seconds; 0 = never. */
  expiresAt: number;
  creditLeft: boolean;
  priority: number;
  keyName: string;
  budgets: Admission['budgets'];
  scope: KeyScope;
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
    const { verdict, expiresAt, creditLeft, priority, keyName, budgets, deployments: scope } = admission;
    if (verdict === 'unknown_key' || verdict === 'disabled') {
      this.#memories.delete(sha256);
      return;
    }
    const known = this.#memories.get(sha256);
    if (!known) {
      const seenAt = this.#clock();
      this.#memories.set(sha256, { seenAt, expiresAt, creditLeft, priority, keyName, budgets, scope });
      return;
    }
    known.seenAt = this.#clock();
    known.expiresAt = expiresAt;
    known.creditLeft = creditLeft;
    known.priority = priority;
    known.keyName = keyName;
    known.budgets = budgets;
    known.scope = scope;
  }

  /** Redis is unavailable. Throws ApiError. */
  admit(
    { sha256, counted, deployment }: DeploymentRequest,
    reason: string,
  ): { priority: number; keyName: string; budgets: AdmittedBudgets | null; scope: KeyScope } {
    if (!this.#isAway) this.#setAway(true, reason);
    const now = this.#clock();
    const memory = this.#memories.get(sha256);
    if (!memory || now - memory.seenAt > MEMORY_MS)
      throw refuseAsUnavailable('database', 'API keys cannot be verified at the moment.');
    if (memory.expiresAt > 0 && now >= memory.expiresAt * 1000) throw refuseKey('has expired');
    const foreign = deployment === undefined ? null : findForeignDeployment(memory.scope, deployment);
    if (foreign) throw foreign;
    if (counted === 'all') requireCredit(memory, now);
    this.#options.metrics.admittedWithoutRedis.inc();
    const { priority, keyName, budgets, scope } = memory;
    return { priority, keyName, scope, budgets: budgets && { text: budgets.text, leftMicros: 0, asOf: 0 } };
  }

  #setAway(isAway: boolean, reason?: string): void {
    this.#isAway = isAway;
    const { log, metrics } = this.#options;
    metrics.redisAway.set(isAway ? 1 : 0);
    if (isAway) log.warn({ reason }, 'Redis is unavailable: serving known keys without limits');
    else log.info('Redis recovered: limits are enforced again');
  }
}

/** A budget that was used up has its amount again in the next period. Throws ApiError. */
function requireCredit({ creditLeft, budgets }: Memory, now: number): void {
  if (creditLeft) return;
  if (budgets?.leftMicros !== 0 || budgets.isCreditGone) throw refuseCredit();
  if (now < budgets.tightest.endsAt * 1_000) throw refuseBudget(budgets.tightest);
}
