/** Delivers events to their receivers: outbox → deliveries → attempts, for all workspaces, beside any number of fronts. */

import type { PublishedEndpoint } from '../../api/redis-keys.ts';
import type { SigningSecrets, WorkspaceSecrets } from '../../api/signing-secret.ts';
import { isRedisAway, type RedisClient } from '../../redis/client.ts';
import {
  type AbandonedDelivery,
  type DeliveryTarget,
  expandEvent,
  type LeasedDelivery,
  leaseDeliveries,
  normalizeURL,
  settleDelivery,
  takeEvents,
} from '../../redis/deliveries/delivery-calls.ts';
import type { EgressAgent } from '../egress/agent.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Span } from '../tracing/span.ts';
import { type AttemptTiming, attemptDelivery, DELIVERY_TIMING } from './attempt.ts';
import { endAttemptSpan } from './attempt-span.ts';

/** What the operator has published of a workspace. */
export interface PublishedWebhooks {
  /** The current ones: an event goes to all that were published before it. */
  readEndpoints: (namespace: string) => Promise<ReadonlyMap<string, PublishedEndpoint>>;
  /** Recently cached, for each attempt. */
  recallEndpoints: (namespace: string) => Promise<ReadonlyMap<string, PublishedEndpoint>>;
  /** Decrypted; null = the workspace has none. */
  readSecrets: (namespace: string) => Promise<WorkspaceSecrets | null>;
}

export interface DispatcherOptions {
  redis: RedisClient;
  agent: Pick<EgressAgent, 'request'>;
  published: PublishedWebhooks;
  /** An inline callback failed permanently. */
  onAbandoned: (delivery: AbandonedDelivery) => void;
  onAttempt?: (delivery: LeasedDelivery, isDelivered: boolean, seconds: number) => void;
  /** Absent: no tracing. */
  beginSpan?: ((delivery: LeasedDelivery) => Promise<Span>) | undefined;
  log: Logger;
  /** Unix milliseconds. */
  clock?: () => number;
  timing?: AttemptTiming;
}

/** Ample for an attempt and recording its end. */
const LEASE_MS = 10_000;
const EVENT_BATCH_SIZE = 50;
/** Per workspace and front; hanging deliveries leave capacity for the rest. */
const MAX_IN_FLIGHT = 128;
/** Per address over all fronts. */
const MAX_PER_DESTINATION = 8;
const RETRY_MS = 1_000;
/** Reading the outbox for each delivery that ends would cost more than it brings. */
const FULL_MS = 200;

interface Workspace {
  isRunning: boolean;
  isDue: boolean;
  /** Its deliveries hold too much: none are created until this time, by `performance.now()`. */
  fullUntil: number;
  inFlight: number;
  timer: NodeJS.Timeout | null;
  /** When the timer ends, by `performance.now()`. */
  wakesAt: number;
}

export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #clock: () => number;
  readonly #timing: AttemptTiming;
  readonly #workspaces = new Map<string, Workspace>();
  readonly #running = new Set<Promise<void>>();
  #isClosed = false;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#clock = options.clock ?? Date.now;
    this.#timing = options.timing ?? DELIVERY_TIMING;
  }

  /** A workspace may have something to deliver. */
  wake(namespace: string): void {
    if (this.#isClosed) return;
    const workspace = this.#workspaceOf(namespace);
    workspace.isDue = true;
    if (workspace.isRunning) return;
    workspace.isRunning = true;
    this.#track(this.#run(namespace, workspace));
  }

  /** Starts nothing more; resolves when the attempts in progress have ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { timer } of this.#workspaces.values()) clearTimeout(timer ?? undefined);
    await Promise.all(this.#running);
  }

  #workspaceOf(namespace: string): Workspace {
    const known = this.#workspaces.get(namespace);
    if (known) return known;
    const workspace = { isRunning: false, isDue: false, fullUntil: 0, inFlight: 0, timer: null, wakesAt: 0 };
    this.#workspaces.set(namespace, workspace);
    return workspace;
  }

  #track(work: Promise<void>): void {
    this.#running.add(work);
    void work.finally(() => this.#running.delete(work));
  }

  async #run(namespace: string, workspace: Workspace): Promise<void> {
    try {
      while (workspace.isDue && !this.#isClosed) {
        workspace.isDue = false;
        const hasMore = await this.#expand(namespace, workspace);
        const isFull = await this.#begin(namespace, workspace);
        // Wakes again when a delivery ends.
        workspace.isDue ||= hasMore && !isFull;
      }
    } catch (error) {
      if (!isRedisAway(error))
        this.#options.log.error({ err: error, namespace }, 'webhook dispatch failed, retrying');
      this.#wakeLater(namespace, workspace, RETRY_MS);
    } finally {
      workspace.isRunning = false;
      if (workspace.isDue && !workspace.timer) this.wake(namespace);
      else this.#forgetIfIdle(namespace, workspace);
    }
  }

  /** Creates deliveries from the outbox; returns whether there may be more. */
  async #expand(namespace: string, workspace: Workspace): Promise<boolean> {
    const fullForMs = workspace.fullUntil - performance.now();
    if (fullForMs > 0) {
      // Something else has woken it, or its timer ended a fraction of a millisecond early, as Node's may.
      this.#wakeLater(namespace, workspace, fullForMs);
      return false;
    }
    const { redis, published } = this.#options;
    const events = await takeEvents(redis, namespace, { limit: EVENT_BATCH_SIZE, leaseMs: LEASE_MS });
    if (events.length === 0) return false;
    const endpoints = await published.readEndpoints(namespace);
    const made = await Promise.all(
      events.map((event) =>
        expandEvent(redis, { ...event, namespace }, listDeliveryTargets(event, endpoints)),
      ),
    );
    const isFull = made.includes(null);
    if (isFull) {
      workspace.fullUntil = performance.now() + FULL_MS;
      // All deliveries may have ended before then, and nothing else wakes it.
      this.#wakeLater(namespace, workspace, FULL_MS);
    }
    return events.length === EVENT_BATCH_SIZE && !isFull;
  }

  /** Starts as many attempts as capacity allows; returns whether it is exhausted. */
  async #begin(namespace: string, workspace: Workspace): Promise<boolean> {
    const limit = MAX_IN_FLIGHT - workspace.inFlight;
    if (limit <= 0) return true;
    const { leased, abandoned, nextInMs } = await leaseDeliveries(this.#options.redis, namespace, {
      limit,
      perDestination: MAX_PER_DESTINATION,
      leaseMs: LEASE_MS,
    });
    for (const delivery of leased) {
      workspace.inFlight++;
      this.#track(this.#attempt(delivery, workspace));
    }
    for (const delivery of abandoned) this.#abandon(delivery);
    if (nextInMs !== null) this.#wakeLater(namespace, workspace, nextInMs);
    return leased.length === limit;
  }

  async #attempt(delivery: LeasedDelivery, workspace: Workspace): Promise<void> {
    const { agent, redis, log, onAttempt, beginSpan } = this.#options;
    const startedAt = performance.now();
    try {
      const secret = await this.#findSecret(delivery);
      const span = await beginSpan?.(delivery);
      const outcome = await attemptDelivery(delivery, {
        agent,
        secret,
        now: this.#clock(),
        timing: this.#timing,
      });
      if (span) endAttemptSpan(span, outcome);
      onAttempt?.(delivery, outcome.isDelivered, (performance.now() - startedAt) / 1_000);
      await settleDelivery(redis, delivery, outcome);
    } catch (error) {
      // The lease expires, and the delivery is retried: at-least-once semantics.
      if (!isRedisAway(error))
        log.error({ err: error, delivery: delivery.id }, 'webhook delivery failed, retrying');
    } finally {
      workspace.inFlight--;
      this.wake(delivery.namespace);
    }
  }

  /** Read for each attempt, so that a rolled secret applies at once; null if there is none. */
  async #findSecret(delivery: LeasedDelivery): Promise<SigningSecrets | null> {
    const { recallEndpoints, readSecrets } = this.#options.published;
    const secrets = await readSecrets(delivery.namespace);
    return secrets && chooseSecret(delivery, secrets, await recallEndpoints(delivery.namespace));
  }

  #abandon(delivery: AbandonedDelivery): void {
    const { namespace, id, eventId, endpoint, isTest } = delivery;
    this.#options.log.warn(
      { namespace, delivery: id, event: eventId, endpoint },
      'webhook delivery abandoned',
    );
    if (endpoint === '' && !isTest) this.#options.onAbandoned(delivery);
  }

  /** A timer that ends earlier stays. */
  #wakeLater(namespace: string, workspace: Workspace, ms: number): void {
    const wakesAt = performance.now() + ms;
    if (this.#isClosed || (workspace.timer && workspace.wakesAt <= wakesAt)) return;
    clearTimeout(workspace.timer ?? undefined);
    workspace.wakesAt = wakesAt;
    workspace.timer = setTimeout(() => {
      workspace.timer = null;
      this.wake(namespace);
    }, ms);
    workspace.timer.unref();
  }

  #forgetIfIdle(namespace: string, { inFlight, timer, isDue }: Workspace): void {
    if (inFlight === 0 && timer === null && !isDue) this.#workspaces.delete(namespace);
  }
}

/**
 * The subscribed endpoints, then the request's own callback. Equal URLs are kept: which of them gets the one delivery
 * is decided when it is created, since an endpoint may be disabled by then (docs/api.md, "Webhooks").
 */
export function listDeliveryTargets(
  event: { type: string; webhookUrl: string | null },
  endpoints: ReadonlyMap<string, PublishedEndpoint>,
): DeliveryTarget[] {
  const subscribed = [...endpoints]
    .filter(([, { enabled, eventTypes }]) => enabled && eventTypes.includes(event.type))
    .map(([name, { url }]) => ({ url, endpoint: name }));
  const callback = event.webhookUrl === null ? [] : [{ url: event.webhookUrl, endpoint: '' }];
  return [...subscribed, ...callback].flatMap(({ url, endpoint }) => {
    const normalized = normalizeURL(url);
    return normalized === null ? [] : [{ url: normalized, endpoint }];
  });
}

/**
 * The secret that signs a delivery: the endpoint's own if it has one, also for a callback to the same URL, since its
 * receiver has no other. null while that secret does not exist yet: the workspace's would be rejected.
 */
export function chooseSecret(
  { endpoint, url }: Pick<LeasedDelivery, 'endpoint' | 'url'>,
  { workspace, endpoints: own }: WorkspaceSecrets,
  endpoints: ReadonlyMap<string, PublishedEndpoint>,
): SigningSecrets | null {
  const name =
    endpoint ||
    [...endpoints].find(([, each]) => each.hasOwnSecret && normalizeURL(each.url) === normalizeURL(url))?.[0];
  if (name === undefined) return workspace;
  // The secrets are newer than the endpoints, which may lack one that was just created.
  return own.get(name) ?? (endpoints.get(name)?.hasOwnSecret ? null : workspace);
}
