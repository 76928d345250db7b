/** Composes the operator: start, leadership and stop. */

import { operatorToken } from '../api/identity.ts';
import { GROUP, STATUS_FIELD_MANAGER } from '../api/names.ts';
import { createStatusWriter } from '../kube/apply.ts';
import type { KubeClient } from '../kube/client.ts';
import { createEventRecorder, type EventNote } from '../kube/events.ts';
import { createLeaderLease, type LeaseTiming } from '../kube/leader-lease.ts';
import type { Log } from '../kube/log.ts';
import { writeThrough } from '../kube/watcher.ts';
import { readSpentMicros } from '../redis/admission/admission-calls.ts';
import { readKeptBudget } from '../redis/admission/budgets.ts';
import type { RedisConnection } from '../redis/client.ts';
import { readDemand } from '../redis/demand/demand.ts';
import { readCredentials } from '../redis/publication/published.ts';
import { createChildApplier } from './child-applier.ts';
import { createControllers, createQueues, keepStores } from './controllers.ts';
import { createBucketChecker } from './credential/bucket-check.ts';
import { CredentialStore } from './credential/credential-store.ts';
import type { OperatorSettings } from './environment.ts';
import { createModelLookup, Fits } from './fit/fits.ts';
import { createClusterView } from './framework/cluster-view.ts';
import { KeyStore } from './key/key-store.ts';
import { listMetricSources } from './metric-sources.ts';
import type { OperatorMetrics } from './metrics.ts';
import { Evictions, watchEvictions } from './model/evictions.ts';
import { ModelStore } from './model/model-store.ts';
import { QuotaReasons } from './model/quota-reasons.ts';
import { SecretKeys } from './model/secret-keys.ts';
import { createPublication } from './publication.ts';
import { buildAdapterChildren, buildChildren } from './resources/children.ts';
import { isHostAllowed } from './resources/route.ts';
import { sidecarImage, sidecarRevision } from './resources/sidecar-revision.ts';
import { createAutoscaler } from './scaling/autoscaler.ts';
import { ScaledDeployments } from './scaling/scaled-deployments.ts';
import { createErrorReader } from './sidecar/error-counts.ts';
import { SidecarRollout } from './sidecar/rollout.ts';
import { describeScaling } from './status/transitions.ts';
import { createEndpointHealth } from './webhook/endpoint-health.ts';
import { EndpointStore, type SigningFaults } from './webhook/endpoint-store.ts';
import { createURLChecker } from './webhook/url-check.ts';

export interface OperatorOptions {
  client: KubeClient;
  /** For the lease only, so that no slow call delays a renewal. */
  leaseClient: KubeClient;
  redis: RedisConnection;
  settings: OperatorSettings;
  /** Name of the pod; part of the lease's identity and of events. */
  podName: string;
  lease: { name: string } & Partial<LeaseTiming>;
  /** The lease was lost: another may already lead, so exit. */
  onLost: (reason: string) => void;
  metrics?: OperatorMetrics;
  log: Log;
  now?: () => number;
  checkIntervalMs?: number;
  sidecarCheckIntervalMs?: number;
  scalingIntervalMs?: number;
}

export type Program = ReturnType<typeof createProgram>;

/** Reopening does not help a watch that is silent for longer. */
const STALE_MS = 10 * 60_000;

export function createProgram(options: OperatorOptions) {
  const { redis, settings, log, metrics, podName } = options;
  const { namespace } = settings;
  const stopping = new AbortController();
  const view = createClusterView({
    client: options.client,
    namespaces: settings.watchNamespaces,
    front: { namespace, service: settings.frontService },
    log,
  });
  const client = writeThrough(options.client, view.all);
  const models = new ModelStore(settings.domain, (model, host) => isHostAllowed(model, host, settings));
  const keys = new KeyStore();
  const credentials = new CredentialStore();
  const endpoints = new EndpointStore();
  const signingSecrets = new Map<string, string | null>();
  const signingFaults: SigningFaults = new Map();
  const events = createEventRecorder({ client, controller: `${GROUP}/operator`, instance: podName, log });
  const stores = { models, keys, credentials, endpoints };
  const queues = createQueues({ log, onProcessed: metrics?.onProcessed });
  const scaled = new ScaledDeployments();
  const { publisher, guards, reports } = createPublication({
    ...stores,
    client,
    redis,
    settings,
    view,
    signingSecrets,
    liveScaling: (model) => scaled.liveOf(model),
    podName,
    record: events.record,
    queues,
    now: options.now,
    log,
    checkIntervalMs: options.checkIntervalMs,
  });
  keepStores(view, stores, { queues, publisher });
  const applier = createChildApplier(view, { client, log });
  const sidecars = new SidecarRollout({
    client,
    view,
    namespace,
    settings: settings.sidecarRollout,
    sidecar: { revision: sidecarRevision(settings), image: sidecarImage(settings) },
    readErrors: createErrorReader(redis.redis),
    enqueue: (key) => queues.models.add(key, 'slow'),
    record: events.record,
    recordOnPod: (event) => reports.recordOnPod(event),
    now: options.now ?? Date.now,
    log,
    intervalMs: options.sidecarCheckIntervalMs,
  });
  const recordOf = (key: string, event: EventNote): void => {
    const live = view.models.get(key);
    if (live && lease.isLeading()) events.record(live, event);
  };
  const evictions = new Evictions(recordOf);
  watchEvictions(view, evictions);
  const { scaler, demandSampler } = createAutoscaler({
    deployments: scaled,
    client,
    view,
    models,
    redis,
    publisher,
    enqueue: (key, lane) => queues.models.add(key, lane),
    onWritten: (key, change) => {
      metrics?.onScaled(key, change);
      const { type, reason, message } = describeScaling(change, change.reason);
      recordOf(key, { type, reason, note: message });
    },
    now: options.now ?? Date.now,
    log,
    intervalMs: options.scalingIntervalMs,
  });
  const front = { storageURL: settings.storageURL, token: operatorToken(settings.masterKey) };
  const fits = new Fits({
    lookUp: createModelLookup(front),
    client,
    hub: settings.modelHub,
    mayReadNodes: settings.watchNamespaces.length === 0,
    onChange: (key) => queues.models.add(key, 'slow'),
    now: options.now ?? Date.now,
    signal: stopping.signal,
  });
  const controllers = createControllers(
    {
      client,
      view,
      models,
      keys,
      credentials,
      endpoints,
      signingSecrets,
      signingFaults,
      secretKeys: new SecretKeys(client),
      evictions,
      quotaReasons: new QuotaReasons({ client, now: options.now ?? Date.now, log }),
      fits,
      applier,
      statusWriter: createStatusWriter({ client, fieldManager: STATUS_FIELD_MANAGER }),
      record: events.record,
      publisher,
      build: (model, context) => buildChildren(model, settings, context),
      buildAdapter: (served, build) => buildAdapterChildren(served, settings, build),
      readAdapter: async (key, pods) => (await readDemand(redis.redis, [key], () => pods)).get(key),
      sidecars,
      scaler,
      settings,
      now: options.now ?? Date.now,
      log,
      readSpentMicros: (workspace) => readSpentMicros(redis.redis, workspace),
      readBudget: async (workspace, question) =>
        publisher.isRestored(workspace) ? readKeptBudget(redis.redis, workspace, question) : null,
      readCredentials: (workspace) => readCredentials(redis.redis, workspace),
      checkBucket: createBucketChecker(front),
      checkURL: createURLChecker(front),
      endpointHealth: createEndpointHealth(redis.redis),
    },
    queues,
  );
  const { name: leaseName, ...timing } = options.lease;
  const lease = createLeaderLease({
    client: options.leaseClient,
    namespace,
    name: leaseName,
    identity: `${podName}_${crypto.randomUUID().slice(0, 8)}`,
    onLost: options.onLost,
    timing,
    log,
  });
  metrics?.watch(
    listMetricSources({
      view,
      controllers,
      lease,
      publisher,
      sidecars,
      scaler,
      events,
      memory: guards.memory,
    }),
  );

  return {
    view,
    publisher,
    /** Fills the caches, waits for the lease, then works; resolves once it leads, or was stopped before. */
    async start(): Promise<void> {
      view.start();
      const synced = view.waitForSync(stopping.signal);
      await lease.follow(synced);
      await synced;
      if (!(await lease.acquire(stopping.signal))) return;
      publisher.start();
      guards.start();
      await Promise.all(controllers.map((controller) => controller.start(stopping.signal)));
      if (stopping.signal.aborted) return;
      sidecars.start();
      demandSampler.start();
    },
    /** Stops everything and releases the lease. */
    async stop(): Promise<void> {
      stopping.abort();
      await demandSampler.stop();
      await sidecars.stop();
      await Promise.all(controllers.map((controller) => controller.stop()));
      await guards.stop();
      await publisher.stop();
      await events.flush();
      await lease.release();
      await view.stop();
    },
    /** Reconciles all known objects again, after all changes. */
    resync(): void {
      for (const controller of controllers) controller.resync();
    },
    isLeading: () => lease.isLeading(),
    isReady: () => view.all.every((watcher) => watcher.hasSynced()),
    /** Whether nothing is left to do for now. */
    isIdle: () =>
      controllers.every(({ queue }) => queue.depth() === 0 && queue.active() === 0) && publisher.idle,
    /** Why the process should be restarted. */
    healthError(): string | undefined {
      const age = view.ageMs();
      return age > STALE_MS ? `a watch has received nothing for ${Math.round(age / 1000)} s` : undefined;
    },
  };
}
