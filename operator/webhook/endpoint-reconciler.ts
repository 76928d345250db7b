/** Brings one WebhookEndpoint to what its spec says: its URL checked, then published; what became of deliveries told. */
import { createHash } from 'node:crypto';
import type { Condition } from '../../api/kubernetes-types.ts';
import { ANNOTATIONS } from '../../api/names.ts';
import type { PublishedEndpoint } from '../../api/redis-keys.ts';
import type { WebhookEndpoint } from '../../api/webhook-endpoint.ts';
import { isNamespaceTerminating } from '../../kube/api-error.ts';
import type { KubeObject } from '../../kube/object.ts';
import { toMillis } from '../../kube/time.ts';
import type { Requeue } from '../../kube/work-queue.ts';
import { isRedisAway } from '../../redis/client.ts';
import type { EndpointHealth } from '../../redis/deliveries/delivery-log.ts';
import { BERTH_RESOURCES } from '../framework/cluster-view.ts';
import type { ReconcileContext } from '../framework/context.ts';
import { findCondition, mergeConditions, type Verdict, verdict } from '../status/condition-list.ts';
import { type EndpointIndex, MOST_ENDPOINTS } from './endpoint-store.ts';
import { beginCheck, judgeURL, type URLState } from './url-check.ts';
import type { URLChecker } from './url-checker.ts';

/** What Redis counts is told within this time, and a little more. */
const HEALTH_MS = 10_000;
const HEALTH_SPREAD_MS = 4_000;

const TOO_MANY = verdict(
  'False',
  'TooManyEndpoints',
  `the namespace has ${MOST_ENDPOINTS} WebhookEndpoints that are older: delete one of them`,
);

/** What Redis counts of an endpoint; all throw while it is away. */
export interface EndpointHealthStore {
  read: (namespace: string, name: string) => Promise<EndpointHealth>;
  isKnown: (namespace: string, name: string) => Promise<boolean>;
  restore: (namespace: string, name: string, health: EndpointHealth) => Promise<void>;
  reset: (namespace: string, name: string) => Promise<void>;
  forget: (namespace: string, name: string) => Promise<void>;
}

export type EndpointContext = ReconcileContext & {
  endpoints: EndpointIndex;
  checkURL: URLChecker;
  endpointHealth: EndpointHealthStore;
};

export class EndpointReconciler {
  readonly #context: EndpointContext;
  /** What is known of each one's URL, by key. */
  readonly #checks = new Map<string, URLState>();

  constructor(context: EndpointContext) {
    this.#context = context;
  }

  async reconcile(key: string, signal: AbortSignal): Promise<Requeue> {
    const { view, endpoints } = this.#context;
    const live = view.endpoints.get(key);
    const parsed = endpoints.get(key);
    if (!live || !parsed) return this.#forget(key);
    if (live.metadata.deletionTimestamp !== undefined) {
      this.#settle(key, null);
      return {};
    }
    try {
      if (parsed.ok) return await this.#bring(live, parsed.value, signal);
      this.#settle(key, null);
      await this.#write(live, { accepted: verdict('False', 'InvalidSpec', parsed.message) }, signal);
      return {};
    } catch (error) {
      if (isNamespaceTerminating(error)) return {};
      throw error;
    }
  }

  async #bring(live: KubeObject, endpoint: WebhookEndpoint, signal: AbortSignal): Promise<Requeue> {
    const { endpoints } = this.#context;
    const key = keyOf(endpoint);
    if (!endpoints.isWithin(key)) {
      this.#settle(key, null);
      await this.#write(live, { endpoint, accepted: TOO_MANY }, signal);
      return {};
    }
    const state = await this.#check(endpoint, signal);
    this.#settle(key, state.isAccepted ? describe(endpoint) : null);
    const health = await this.#readHealth(endpoint, signal);
    await this.#write(live, { endpoint, accepted: state.verdict, health }, signal);
    const lookMs = HEALTH_MS + HEALTH_SPREAD_MS * Math.random();
    return { requeueAfterMs: Math.max(0, Math.min(lookMs, state.dueAt - this.#context.now())) };
  }

  async #check(endpoint: WebhookEndpoint, signal: AbortSignal): Promise<URLState> {
    const { checkURL, now } = this.#context;
    const key = keyOf(endpoint);
    const { url } = endpoint.spec;
    let state = this.#checks.get(key);
    if (state?.url !== url) state = this.#begin(endpoint, state === undefined);
    if (now() >= state.dueAt)
      state = judgeURL(state, await checkURL({ url }, signal), { now: now(), random: Math.random() });
    this.#checks.set(key, state);
    return state;
  }

  /** After a restart, what was told of this very spec stands. */
  #begin({ metadata, spec, status }: WebhookEndpoint, isFirstLook: boolean): URLState {
    const { now } = this.#context;
    const told = findCondition(status.conditions ?? [], 'Accepted');
    const isCurrent = isFirstLook && told?.observedGeneration === metadata.generation;
    return beginCheck(spec.url, isCurrent && told?.status === 'True', { now: now(), random: Math.random() });
  }

  /** What Redis counted; undefined while it is away. Begins anew for another URL, and puts back what Redis lost. */
  async #readHealth(endpoint: WebhookEndpoint, signal: AbortSignal): Promise<EndpointHealth | undefined> {
    const { endpointHealth: store } = this.#context;
    const { namespace, name } = endpoint.metadata;
    try {
      if (endpoint.status.countsFor !== describeCount(endpoint)) await store.reset(namespace, name);
      else if (!(await store.isKnown(namespace, name)))
        await store.restore(namespace, name, readTold(endpoint));
      return await store.read(namespace, name);
    } catch (error) {
      signal.throwIfAborted();
      if (!isRedisAway(error)) throw error;
      return undefined;
    }
  }

  /** Unpublished first, so that no delivery counts afterwards. */
  async #forget(key: string): Promise<Requeue> {
    const { publisher, endpointHealth } = this.#context;
    const [namespace, name] = key.split('/') as [string, string];
    this.#checks.delete(key);
    try {
      await publisher.publish({ what: 'endpoints', namespace });
      await endpointHealth.forget(namespace, name);
      return {};
    } catch (error) {
      if (!isRedisAway(error)) throw error;
      return { requeueAfterMs: HEALTH_MS };
    }
  }

  /** Marks what is to be published, if that is new. */
  #settle(key: string, entry: PublishedEndpoint | null): void {
    const { endpoints, publisher } = this.#context;
    if (JSON.stringify(endpoints.entry(key)) === JSON.stringify(entry)) return;
    endpoints.settle(key, entry);
    publisher.mark({ what: 'endpoints', namespace: key.split('/')[0]! });
  }

  async #write(
    live: KubeObject,
    told: { endpoint?: WebhookEndpoint; accepted: Verdict; health?: EndpointHealth },
    signal: AbortSignal,
  ): Promise<void> {
    const { statusWriter, record, now } = this.#context;
    const { endpoint, accepted, health } = told;
    const before = ((live.status ?? {}) as { conditions?: Condition[] }).conditions ?? [];
    const generation = live.metadata.generation ?? 0;
    // While Redis is away, what was told goes on being told: it may have to be put back.
    const known = health ?? (endpoint && readTold(endpoint));
    const active = judgeActivity(accepted, endpoint, known);
    const conditions = mergeConditions(
      before,
      { Accepted: accepted, Active: active },
      { generation, now: now() },
    );
    const status = {
      observedGeneration: generation,
      consecutiveFailures: known?.failures,
      countsFor: health && endpoint ? describeCount(endpoint) : endpoint?.status.countsFor,
      conditions,
    };
    const changed = await statusWriter.write(BERTH_RESOURCES.WebhookEndpoint, live, { status, signal });
    if (!changed) return;
    const subject = accepted.status === 'False' ? accepted : active;
    const was = findCondition(before, subject === accepted ? 'Accepted' : 'Active');
    if (subject.status === 'Unknown' || was?.reason === subject.reason) return;
    const isBad = subject.status === 'False' && subject.reason !== 'Disabled';
    record(live, { type: isBad ? 'Warning' : 'Normal', reason: subject.reason, note: subject.message });
  }
}

function judgeActivity(
  accepted: Verdict,
  endpoint: WebhookEndpoint | undefined,
  health: EndpointHealth | undefined,
): Verdict {
  if (accepted.status !== 'True' || !endpoint) {
    const status = accepted.status === 'False' ? 'False' : 'Unknown';
    return verdict(status, 'NotAccepted', `nothing is delivered: ${accepted.message}`);
  }
  if (!endpoint.spec.enabled) return verdict('False', 'Disabled', 'spec.enabled is false');
  if (health && health.disabledAt !== null) {
    const since = new Date(health.disabledAt).toISOString();
    const message = `disabled at ${since}: ${health.failures} deliveries in a row failed for good; a new value of the annotation ${ANNOTATIONS.reEnable} enables it`;
    return verdict('False', 'AutoDisabled', message);
  }
  return verdict('True', 'Active', 'deliveries are made');
}

/** What the object's status told last of this count. */
function readTold({ status }: WebhookEndpoint): EndpointHealth {
  const active = findCondition(status.conditions ?? [], 'Active');
  const isDisabled = active?.reason === 'AutoDisabled';
  const said = isDisabled ? /^disabled at (\S+):/.exec(active.message ?? '')?.[1] : undefined;
  const since = said ?? (isDisabled ? active.lastTransitionTime : undefined);
  return {
    failures: status.consecutiveFailures ?? 0,
    disabledAt: since === undefined ? null : toMillis(since),
  };
}

/** What the failures are counted for: another one begins the count anew. */
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
});
