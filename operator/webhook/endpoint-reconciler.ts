/** Reconciles one WebhookEndpoint: checks its URL, publishes it, and reports its deliveries. */
import { createHash } from 'node:crypto';
import { ANNOTATIONS } from '../../api/names.ts';
import type { PublishedEndpoint } from '../../api/redis-keys.ts';
import type { WebhookEndpoint } from '../../api/webhook-endpoint.ts';
import { type KubeObject, objectKey, splitKey } from '../../kube/object.ts';
import { toMillis } from '../../kube/time.ts';
import type { Requeue } from '../../kube/work-queue.ts';
import { isRedisAway } from '../../redis/client.ts';
import type { EndpointHealth } from '../../redis/deliveries/delivery-log.ts';
import { BERTH_RESOURCES } from '../framework/berth-resources.ts';
import type { CheckState } from '../framework/external-check.ts';
import { type Leaving, type ReconcileContext, Reconciler } from '../framework/reconciler.ts';
import { findCondition, type Verdict, verdict } from '../status/condition-list.ts';
import type { Problem } from '../status/problem.ts';
import { stallOf } from '../status/readiness.ts';
import type { EndpointHealthStore } from './endpoint-health.ts';
import { type EndpointStore, MAX_ENDPOINTS, type SigningFaults } from './endpoint-store.ts';
import { evaluateURL, startURLCheck, type URLChecker } from './url-check.ts';

/** The status follows Redis' counts within this time plus the spread. */
const HEALTH_INTERVAL_MS = 10_000;
const HEALTH_SPREAD_MS = 4_000;

const TOO_MANY = verdict(
  'False',
  'TooManyEndpoints',
  `the namespace has ${MAX_ENDPOINTS} older WebhookEndpoints, which is the limit: delete one of them`,
);

const NOT_PUBLISHED = verdict(
  'Unknown',
  'NotPublished',
  'Redis is unavailable; deliveries start once the endpoint is published',
);

const DISABLED = 'Disabled';
const AUTO_DISABLED = 'AutoDisabled';

export type EndpointContext = ReconcileContext & {
  endpoints: EndpointStore;
  checkURL: URLChecker;
  endpointHealth: EndpointHealthStore;
  signingFaults: SigningFaults;
};

export class EndpointReconciler extends Reconciler<WebhookEndpoint, EndpointContext> {
  /** Check state of each one's URL, by key. */
  readonly #checks = new Map<string, { url: string; state: CheckState }>();

  constructor(context: EndpointContext) {
    const { view, endpoints } = context;
    super(context, { resource: BERTH_RESOURCES.WebhookEndpoint, cache: view.endpoints, store: endpoints });
  }

  protected override async finalize({ key }: Leaving<WebhookEndpoint>): Promise<Requeue> {
    this.#settle(key, null);
    return {};
  }

  /** Unpublished first, so that no delivery counts afterwards. */
  protected async handleRemoval(key: string): Promise<Requeue> {
    const { publisher, endpointHealth } = this.context;
    const [namespace, name] = key.split('/') as [string, string];
    this.#checks.delete(key);
    try {
      await publisher.publish({ what: 'endpoints', namespace });
      await endpointHealth.delete(namespace, name);
      return {};
    } catch (error) {
      if (!isRedisAway(error)) throw error;
      return { requeueAfterMs: HEALTH_INTERVAL_MS };
    }
  }

  protected async refuse(
    live: KubeObject,
    { reason, message }: Problem,
    signal: AbortSignal,
  ): Promise<Requeue> {
    this.#settle(objectKey(live), null);
    await this.#write(live, { accepted: verdict('False', reason, message) }, signal);
    return {};
  }

  protected async sync(live: KubeObject, endpoint: WebhookEndpoint, signal: AbortSignal): Promise<Requeue> {
    const { endpoints } = this.context;
    const key = keyOf(endpoint);
    if (!endpoints.isWithin(key)) {
      this.#settle(key, null);
      await this.#write(live, { endpoint, accepted: TOO_MANY }, signal);
      return {};
    }
    const state = await this.#check(endpoint, signal);
    this.#settle(key, state.isPassed ? describe(endpoint) : null);
    const health = await this.#readHealth(endpoint, signal);
    const isPublished = !state.isPassed || (await this.#ensurePublished(endpoint));
    await this.#write(live, { endpoint, accepted: state.verdict, health, isPublished }, signal);
    const pollMs = HEALTH_INTERVAL_MS + HEALTH_SPREAD_MS * Math.random();
    return { requeueAfterMs: Math.max(0, Math.min(pollMs, state.dueAt - this.context.now())) };
  }

  async #check({ metadata, spec, status }: WebhookEndpoint, signal: AbortSignal): Promise<CheckState> {
    const { checkURL, now } = this.context;
    const key = `${metadata.namespace}/${metadata.name}`;
    const { url } = spec;
    const time = () => ({ now: now(), random: Math.random() });
    const known = this.#checks.get(key);
    // After a restart, the report on this very spec stands.
    const reported = known ? undefined : findCondition(status.conditions ?? [], 'Accepted');
    const wasAccepted = reported?.observedGeneration === metadata.generation && reported?.status === 'True';
    let state = known?.url === url ? known.state : startURLCheck(wasAccepted, time());
    if (now() >= state.dueAt) state = evaluateURL(state, await checkURL({ url }, signal), time());
    this.#checks.set(key, { url, state });
    return state;
  }

  /** Redis' counts; undefined while it is unavailable. Resets them for a new URL, and restores what Redis lost. */
  async #readHealth(endpoint: WebhookEndpoint, signal: AbortSignal): Promise<EndpointHealth | undefined> {
    const { endpointHealth: store } = this.context;
    const { namespace, name } = endpoint.metadata;
    try {
      if (endpoint.status.countsFor !== describeCount(endpoint)) await store.reset(namespace, name);
      else if (!(await store.isKnown(namespace, name)))
        await store.restore(namespace, name, readReported(endpoint));
      return await store.read(namespace, name);
    } catch (error) {
      signal.throwIfAborted();
      if (!isRedisAway(error)) throw error;
      return undefined;
    }
  }

  /** An endpoint reported as active receives every event from then on; false while Redis is unavailable. */
  async #ensurePublished({ metadata: { namespace, generation }, status }: WebhookEndpoint): Promise<boolean> {
    const reported = findCondition(status.conditions ?? [], 'Active');
    if (reported?.observedGeneration === generation && reported?.status !== 'Unknown') return true;
    try {
      await this.context.publisher.publish({ what: 'endpoints', namespace });
      return true;
    } catch (error) {
      if (!isRedisAway(error)) throw error;
      return false;
    }
  }

  /** Marks it for publishing if it is new. */
  #settle(key: string, entry: PublishedEndpoint | null): void {
    const { endpoints, publisher } = this.context;
    if (endpoints.setEntry(key, entry))
      publisher.mark({ what: 'endpoints', namespace: splitKey(key).namespace! });
  }

  #findFault(endpoint: WebhookEndpoint | undefined): string | undefined {
    if (!endpoint) return undefined;
    const { namespace, name } = endpoint.metadata;
    const { all, own } = this.context.signingFaults.get(namespace) ?? {};
    return all ?? (endpoint.spec.signingSecret === 'Own' ? own?.get(name) : undefined);
  }

  async #write(
    live: KubeObject,
    report: { endpoint?: WebhookEndpoint; accepted: Verdict; health?: EndpointHealth; isPublished?: boolean },
    signal: AbortSignal,
  ): Promise<void> {
    const { endpoint, accepted, health, isPublished = true } = report;
    // While Redis is down, the last report stands: it may have to be restored from it.
    const known = health ?? (endpoint && readReported(endpoint));
    const active = isPublished
      ? evaluateActivity(accepted, endpoint, { health: known, fault: this.#findFault(endpoint) })
      : NOT_PUBLISHED;
    const [condition, subject] = findSubject(accepted, active);
    const isBad = subject.status === 'False' && subject.reason !== DISABLED;
    await this.writeStatus(live, {
      conditions: describeEndpoint(accepted, active),
      fields: {
        consecutiveFailures: known?.failures,
        countsFor: health && endpoint ? describeCount(endpoint) : endpoint?.status.countsFor,
      },
      event: subject.status === 'Unknown' ? undefined : { condition, type: isBad ? 'Warning' : 'Normal' },
      signal,
    });
  }
}

const findSubject = (accepted: Verdict, active: Verdict) =>
  accepted.status === 'False' ? (['Accepted', accepted] as const) : (['Active', active] as const);

/** One that is disabled, as its spec says, is ready; one that was disabled by its failures stays so until a person acts. */
export function describeEndpoint(accepted: Verdict, active: Verdict) {
  const [, subject] = findSubject(accepted, active);
  const ready: Verdict = subject.reason === DISABLED ? { ...subject, status: 'True' } : subject;
  const isOff = active.reason === AUTO_DISABLED;
  const stalled = isOff ? { Stalled: { ...active, status: 'True' as const } } : stallOf(accepted);
  return { Ready: ready, ...stalled, Accepted: accepted, Active: active };
}

export function evaluateActivity(
  accepted: Verdict,
  endpoint: WebhookEndpoint | undefined,
  { health, fault }: { health: EndpointHealth | undefined; fault: string | undefined },
): Verdict {
  if (accepted.status !== 'True' || !endpoint) {
    const status = accepted.status === 'False' ? 'False' : 'Unknown';
    return verdict(status, 'NotAccepted', `no deliveries: ${accepted.message}`);
  }
  if (!endpoint.spec.enabled) return verdict('False', DISABLED, 'spec.enabled is false');
  if (health && health.disabledAt !== null) {
    const since = new Date(health.disabledAt).toISOString();
    const message = `disabled at ${since}: ${health.failures} consecutive deliveries failed permanently; set the annotation ${ANNOTATIONS.reEnable} to a new value to enable it again`;
    return verdict('False', AUTO_DISABLED, message);
  }
  if (fault !== undefined) return verdict('False', 'NotSigned', `deliveries fail: ${fault}`);
  return verdict('True', 'Active', 'events are delivered');
}

/** The count as last reported in the object's status. */
function readReported({ status }: WebhookEndpoint): EndpointHealth {
  const active = findCondition(status.conditions ?? [], 'Active');
  const isDisabled = active?.reason === AUTO_DISABLED;
  const disabledSince = isDisabled ? /^disabled at (\S+):/.exec(active.message ?? '')?.[1] : undefined;
  const since = disabledSince ?? (isDisabled ? active.lastTransitionTime : undefined);
  return {
    failures: status.consecutiveFailures ?? 0,
    disabledAt: since === undefined ? null : toMillis(since),
  };
}

/** What the failures are counted for: a new value resets the count. */
function describeCount({ metadata, spec }: WebhookEndpoint): string {
  const asked = metadata.annotations?.[ANNOTATIONS.reEnable] ?? '';
  const text = JSON.stringify([metadata.uid, spec.url, spec.enabled, asked]);
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

const keyOf = ({ metadata }: WebhookEndpoint): string => `${metadata.namespace}/${metadata.name}`;

const describe = ({ spec }: WebhookEndpoint): PublishedEndpoint => ({
  v: 1,
  url: spec.url,
  eventTypes: [...spec.eventTypes].sort(),
  enabled: spec.enabled,
  ...(spec.signingSecret === 'Own' && { hasOwnSecret: true }),
});
