/** One deployment served beside its engine. */
import type { Server } from 'node:http';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { listen } from '../../kit/http-server.ts';
import { isRedisAway, type RedisConnection } from '../../redis/client.ts';
import { heartbeat, leave } from '../../redis/heartbeats/heartbeats.ts';
import { readDeployment } from '../../redis/publication/published.ts';
import { type Replica, startReplica } from '../capacity/replica.ts';
import type { EgressSettings } from '../egress/agent.ts';
import type { MemoryWatch } from '../engine/memory-mark.ts';
import type { EngineHealth } from '../health/engine-health.ts';
import { Activity } from '../http/activity.ts';
import { setDocumentationSite } from '../http/error-response.ts';
import { createServer } from '../http/server.ts';
import type { StorageServices } from '../jobs/services.ts';
import { startWorker, type Worker, type WorkerOptions } from '../jobs/worker.ts';
import type { Logger } from '../telemetry/log.ts';
import type { GatewayMetrics } from '../telemetry/metrics.ts';
import { UsageMeter } from '../telemetry/usage.ts';
import type { Tracer } from '../tracing/span.ts';
import { createSidecarApp } from './app.ts';
import { Drain } from './drain.ts';
import { type LiveConfig, watchConfig } from './live-config.ts';
import { createPassOn } from './passing-on.ts';
import { endWork, isDrainOverdue } from './shutdown.ts';
import { isQueued, type WatchedEngine, watchEngine } from './watched-engine.ts';

export interface ModelEndpointOptions {
  initialConfig: GatewayConfig;
  connection: RedisConnection;
  engineURL: string;
  engineHealthPath: string;
  /** null: it has no metrics. */
  engineMetricsPath: string | null;
  /** Null or absent: the engine reports it itself. */
  ranOutOfMemory?: MemoryWatch | null;
  peerToken: string;
  /** What peers see of this replica. */
  self: { pod: string; address: string; port: number };
  /** Address to listen on; undefined = all. */
  host: string | undefined;
  drainTimeoutMs: number;
  egress: EgressSettings;
  storage: StorageServices;
  metrics: GatewayMetrics;
  log: Logger;
  /** null or absent: no tracing. */
  tracer?: Tracer | null;
}

export interface ModelEndpoint {
  server: Server;
  live: LiveConfig;
  health: EngineHealth;
  engine: Pick<WatchedEngine, 'unwatchedPool'>;
  drain: Drain;
  replica: Replica;
  /** A message on the deployment's `channels.jobs`, or a renewed subscription: jobs may be queued. */
  wakeWorker(): void;
  /** Graceful shutdown: leaves the registry, finishes requests in flight, then stops the rest. */
  stop(): Promise<void>;
}

/** Listens when it resolves. Needs neither Redis nor the engine for that. */
export async function startModelEndpoint(options: ModelEndpointOptions): Promise<ModelEndpoint> {
  const { connection, metrics, log, self, tracer = null } = options;
  const { namespace, name } = options.initialConfig;
  const activity = new Activity();
  const logUnlessAway = (message: string) => (error: unknown) => {
    if (!isRedisAway(error)) log.warn({ err: error }, message);
  };
  const live = watchConfig({
    initial: options.initialConfig,
    read: () => readDeployment(connection.redis, namespace, name),
    onError: logUnlessAway('published configuration is invalid; keeping the last valid one'),
  });
  const engine = watchEngine({
    engineURL: options.engineURL,
    healthPath: options.engineHealthPath,
    metricsPath: options.engineMetricsPath,
    config: () => live.current,
    slots: () => replica.slots,
    metrics,
    log,
    onPhaseChange: (now, before) => {
      if (now.isReady && !before.isReady) drain.cancel({ isRestarted: before.phase === 'starting' });
      // Kept-alive connections would stay here, while the Service routes new ones to ready pods.
      activity.setClosing(!now.isReady || drain.isDraining);
      replica.announce();
      worker?.wake();
    },
    onSleepChange: () => replica.announce(),
  });
  const { health, sleep, contextLength, pool: enginePool } = engine;
  const drain = new Drain({
    activity,
    countWork: () => replica.slots.inflight + (worker?.running ?? 0),
    isEngineLost: () => health.isLost,
    timeoutMs: options.drainTimeoutMs,
    onChange: (isDraining) => {
      log.info(isDraining ? 'draining' : 'drain canceled');
      replica.announce();
      if (isDraining) worker?.windDown(drain.remainingMs);
      else worker?.resume();
    },
  });
  const abandoned = { jobs: 0 };
  const replica = startReplica({
    readConfig: () => live.current,
    engineURL: options.engineURL,
    readEngineMetrics: engine.readMetrics,
    isEngineReady: () => health.isReady,
    isDraining: () => drain.isDraining,
    onEngineLost: () => health.suspect(),
    sleep,
    enginePool,
    peerToken: options.peerToken,
    self,
    sendHeartbeat: (own, knownEdition) =>
      heartbeat(connection.redis, { namespace, name, heartbeat: own, knownEdition }),
    countAbandoned: () => abandoned.jobs,
    onHeartbeatError: logUnlessAway('heartbeat failed'),
    onResend: () => metrics.resent.inc({ to: 'replica' }),
    onPeerOrigins: (origins) => app.peerPools.keepOnly(origins),
    onPrefixChoice: (choice) => metrics.prefixChoices.add(1, choice),
    tracer,
  });
  setDocumentationSite(live.current.documentationURL);
  live.onChange(({ documentationURL }) => setDocumentationSite(documentationURL));
  live.onChange(({ sleeping }) => {
    sleep.setDesired(sleeping?.includes(self.pod) ?? false);
    replica.announce();
    // It may no longer be cordoned or paused.
    worker?.wake();
  });
  const meter = new UsageMeter({ redis: connection.redis, log, metrics });
  const usage = meter.of(namespace, name, isQueued(options.initialConfig));
  const worker = buildWorker(options, {
    config: () => live.current,
    slots: replica.slots,
    pool: enginePool,
    beginWork: () => health.begin({ isHeld: false }),
    isEngineLost: () => health.isLost,
    isEngineReady: () => health.isReady,
    onEngineLost: () => health.suspect(),
    abandoned,
    ranOutOfMemory: options.ranOutOfMemory,
    usage,
  });
  connection.onStateChange((state) => {
    if (state !== 'up') return;
    replica.announce();
    worker?.wake();
  });
  const app = createSidecarApp({
    config: () => live.current,
    capacity: replica.capacity,
    readPrefix: replica.readPrefix,
    connection,
    engineReady: () => health.isReady,
    contextLength: () => contextLength.value,
    enginePool,
    readPool: engine.unwatchedPool,
    metrics,
    usage,
    log,
    onEngineLost: () => health.suspect(),
    ranOutOfMemory: options.ranOutOfMemory,
    isEnding: () => isDrainOverdue(drain),
    egress: options.egress,
    storage: options.storage,
    peerToken: options.peerToken,
    tracer,
  });

  const server = createServer(
    (req, res) => {
      activity.track(res);
      if (replica.peerRoutes(req, res)) return;
      app.listener(req, res);
    },
    () => live.current.limits,
  );
  await listen(server, self.port, options.host);

  return {
    server,
    live,
    health,
    engine,
    drain,
    replica,
    wakeWorker: () => worker?.wake(true),
    stop: async () => {
      activity.setClosing(true);
      const retired = replica
        .retire()
        .then(() => leave(connection.redis, { namespace, name, pod: self.pod }))
        .catch(() => {});
      const passOn = createPassOn({ pools: app.peerPools, listOpen: () => replica.listOpenPeers(), self });
      await endWork({ server, activity, cutOff: app.cutOff, drain, worker, retired, passOn });
      engine.stop();
      live.close();
      await app.close();
      await meter.close();
      await replica.close();
      await engine.close();
    },
  };
}

type WorkerParts = Pick<
  WorkerOptions,
  | 'config'
  | 'slots'
  | 'pool'
  | 'beginWork'
  | 'isEngineReady'
  | 'isEngineLost'
  | 'onEngineLost'
  | 'abandoned'
  | 'ranOutOfMemory'
  | 'usage'
>;

function buildWorker(
  { initialConfig, storage, connection, self, metrics, log, tracer = null }: ModelEndpointOptions,
  parts: WorkerParts,
): Worker | null {
  if (!isQueued(initialConfig)) return null;
  return startWorker({ ...parts, redis: connection.redis, storage, pod: self.pod, metrics, log, tracer });
}
