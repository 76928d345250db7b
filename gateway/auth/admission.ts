/** Admits requests by key and limits: a lease, one call to Redis, or the memory while Redis is unavailable (docs/api.md, "Authentication", "Limits"). */
import { hash } from 'node:crypto';
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
import type { AdmittedBudgets } from '../account/account.ts';
import type { Settlements, UnsettledWatch } from '../account/settlements.ts';
import { ApiError } from '../http/error-response.ts';
import type { GatewayMiddleware } from '../http/exchange.ts';
import { isSpoken, type Route } from '../http/routes.ts';
import type { Logger } from '../telemetry/log.ts';
import type { GatewayMetrics } from '../telemetry/metrics.ts';
import { inSpan } from '../tracing/span.ts';
import { buildLimitHeaders, decideAdmission, leaveToOthers, readApiKey } from './admission-decision.ts';
import { AdmissionMemory } from './admission-memory.ts';
import type { DeploymentRequest, KeyScope } from './key-scope.ts';
import { type HeldLease, type KeyState, Leases } from './leases.ts';

export interface AdmissionsOptions {
  redis: RedisClient;
  log: Logger;
  metrics: GatewayMetrics;
  /** Usage that has not reached Redis yet. */
  settlements: Pick<Settlements, 'watch' | 'note'>;
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
  /** Budgets of the key; null: none. */
  budgets: AdmittedBudgets | null;
  /** Deployments that the key may call. */
  scope: KeyScope;
}

export class Admissions {
  readonly #options: AdmissionsOptions;
  readonly #clock: () => number;
  readonly #waits: Clock;
  readonly #memory: AdmissionMemory;
  readonly #leases: Leases<Promise<Admitted>>;

  constructor(options: AdmissionsOptions) {
    this.#options = options;
    this.#clock = options.clock ?? Date.now;
    this.#waits = options.waits ?? systemClock;
    this.#memory = new AdmissionMemory(options, this.#clock);
    this.#leases = new Leases(this.#waits);
  }

  /** Throws ApiError. */
  admit({ namespace, sha256, counted, deployment }: DeploymentRequest): Promise<Admitted> {
    const request = { namespace, sha256, counted, deployment };
    if (counted === 'all') return this.#admitSpending(request);
    return admit(this.#options.redis, request).then(
      (admission) => this.#evaluate(request, admission, null),
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

  #admitSpending(request: DeploymentRequest): Promise<Admitted> {
    const leases = this.#leases;
    const state = leases.find(request.sha256);
    const held = leases.take(state);
    if (held) return held;
    const refused = leases.findRefused(state);
    const { deployment } = request;
    const terms = { spends: true, minute: 'verdict' as const, now: this.#clock(), deployment };
    if (refused) return Promise.reject(decideAdmission(refused, terms));
    return this.#askToSpend(request, state);
  }

  async #askToSpend(
    { namespace, sha256, counted, deployment }: DeploymentRequest,
    state: KeyState<Promise<Admitted>>,
  ): Promise<Admitted> {
    const leases = this.#leases;
    const watch = this.#options.settlements.watch(sha256);
    const leased = leases.startAsking(state);
    let sentAt = 0;
    let edition = 0;
    const onSend = () => {
      watch.mark();
      sentAt = this.#waits.now();
      edition = leases.edition;
    };
    const request = { namespace, sha256, counted, deployment, leased, onSend };
    let lease: HeldLease<Promise<Admitted>> | null = null;
    try {
      const admission = await admit(this.#options.redis, request);
      const isCurrent = edition === leases.edition;
      if (admission.verdict === 'tpd' && isCurrent) leases.holdRefused(state, admission, sentAt);
      const giveBack = (count: number) => this.#uncount(request, admission.rpm.resetAt, count);
      const uncount = () => {
        if (lease && state.lease === lease) lease.left++;
        else void giveBack(1);
      };
      const admitted = { ...this.#evaluate(request, admission, { watch, sentAt }), uncount };
      if (!admission.lease) return admitted;
      if (isCurrent && this.#waits.now() < sentAt + admission.lease.ms) {
        const answer = Promise.resolve({ ...admitted, headers: buildLimitHeaders(leaveToOthers(admission)) });
        lease = leases.hold(state, admission.lease, admission, { sentAt, answer, watch, giveBack });
      } else void giveBack(admission.lease.requests);
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
  #admitWhileAway(request: DeploymentRequest, error: unknown): Admitted {
    if (!isRedisAway(error)) throw error;
    return { headers: [], uncount: null, ...this.#memory.admit(request, (error as Error).message) };
  }

  /** `asked`: null for requests that spend nothing. */
  #evaluate(
    request: DeploymentRequest,
    admission: Admission,
    asked: { watch: UnsettledWatch; sentAt: number } | null,
  ): Admitted {
    this.#memory.remember(request.sha256, admission);
    const budgets = admission.budgets && {
      text: admission.budgets.text,
      leftMicros: admission.budgets.leftMicros,
      asOf: asked?.sentAt ?? 0,
    };
    if (asked) this.#options.settlements.note(request.sha256, budgets);
    const { counted, deployment } = request;
    const terms = {
      spends: counted === 'all',
      minute: 'verdict' as const,
      deployment,
      unsettled: asked?.watch.read() ?? 0,
      unsettledMicros: asked?.watch.readOwnMicros() ?? 0,
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
    const { priority, keyName, deployments: scope } = admission;
    const headers = uncount ? buildLimitHeaders(admission) : [];
    return { headers, uncount, priority, keyName, budgets, scope };
  }

  /** Never throws: a request that stays counted is harmless. */
  async #uncount({ namespace, sha256 }: AdmissionRequest, resetAt: number, count = 1): Promise<void> {
    const { redis, log } = this.#options;
    await uncount(redis, { namespace, sha256, resetAt }, count).catch((error) => {
      if (!isRedisAway(error)) log.error({ err: error }, 'correcting the request count failed');
    });
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
      const { namespace, name: deployment } = config();
      const request = { namespace, sha256, counted, deployment };
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
    state.budgets = admitted.budgets;
    state.scope = admitted.scope;
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
