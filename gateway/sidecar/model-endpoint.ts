/** One deployment served beside its engine: all that the roles `sidecar` and `local` have in common. */
import type { Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { closeServer, listen } from '../../kit/http-server.ts';
import { heartbeat, leave } from '../../redis/admission/admission-calls.ts';
import { isRedisAway, type RedisConnection } from '../../redis/client.ts';
import { readDeployment } from '../../redis/publication/published.ts';
import { EngineSleep } from '../capacity/engine-sleep.ts';
import { type Replica, startReplica } from '../capacity/replica.ts';
import type { EgressSettings } from '../egress/agent.ts';
import { tryEngine } from '../health/canary.ts';
import { defaultStalledMs, EngineHealth } from '../health/engine-health.ts';
import type { EngineBounds } from '../health/engine-verdict.ts';
import { Activity } from '../http/activity.ts';
import { ApiError, setDocumentationSite } from '../http/error-response.ts';
import { createServer } from '../http/server.ts';
import type { StorageServices } from '../jobs/services.ts';
import { startWorker, type Worker, type WorkerOptions } from '../jobs/worker.ts';
import type { Logger } from '../telemetry/log.ts';
import type { GatewayMetrics } from '../telemetry/metrics.ts';
import { UsageMeter } from '../telemetry/usage.ts';
import { ContextLength } from '../text/context-length.ts';
import type { Tracer } from '../tracing/tracer.ts';
import { ENGINE_CONNECT_TIMEOUT_MS, Pools } from '../upstream/pools.ts';
import { createSidecarApp, type SidecarApp } from './app.ts';
import { Drain } from './drain.ts';
import { type LiveConfig, watchConfig } from './live-config.ts';

export interface ModelEndpointOptions {
  initialConfig: GatewayConfig;
  connection: RedisConnection;
  engineURL: string;
  engineHealthPath: string;
  /** The engine's metrics as text; null or absent: it has none. */
  readEngineMetrics?: (() => Promise<string>) | null;
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
  /** null or absent: nothing is traced. */
  tracer?: Tracer | null;
}

export interface ModelEndpoint {
  server: Server;
  live: LiveConfig;
  health: EngineHealth;
  drain: Drain;
  replica: Replica;
  /** A message on the deployment's `channels.jobs`, or a renewed subscription: something may wait for a worker. */
  wakeWorker(): void;
  /** Ends in good order: out of the registry, then what is in flight, then the rest. */
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
  const enginePools = new Pools({ connectTimeoutMs: ENGINE_CONNECT_TIMEOUT_MS });
  const health = new EngineHealth({
    engineURL: options.engineURL,
    path: options.engineHealthPath,
    stalledMs: () => readStalledMs(live.current),
    bounds: isQueued(options.initialConfig) ? JOB_BOUNDS : undefined,
    tryEngine: async () =>
      sleep.isAwake
        ? tryEngine({
            pool: enginePools.get(options.engineURL),
            config: live.current,
            slots: replica.slots,
          })
        : 'unknown',
    onChange: (now, before) => {
      const { phase, reason, isReady } = now;
      const lastedSeconds = Math.round((now.since - before.since) / 1000);
      log[isReady ? 'info' : 'warn'](
        { phase, reason, before: before.phase, lastedSeconds },
        `engine is ${phase}`,
      );
      metrics.engines.dec({ phase: before.phase });
      metrics.engines.inc({ phase });
      if (isReady && !before.isReady) {
        drain.cancel({ isRestarted: before.phase === 'starting' });
        contextLength.refresh();
        sleep.check();
      }
      // Kept-alive connections would stay here, where the Service leads new ones to who can answer.
      activity.setClosing(!isReady || drain.isDraining);
      replica.announce();
      worker?.wake();
    },
  });
  const sleep = new EngineSleep({
    engineURL: options.engineURL,
    pool: () => enginePools.get(options.engineURL),
    isOffered: () => live.current.sleeping !== undefined,
    isIdle: () => replica.slots.inflight === 0 && replica.slots.busy.level === 0,
    onChange: (isAsleep, tookMs) => {
      log.info({ tookMs: Math.round(tookMs) }, isAsleep ? 'engine sleeps' : 'engine woken');
      replica.announce();
    },
    // Its health check stays good, so that nothing else would have one restarted that never wakes.
    onWakeFailure: () => health.begin({ isHeld: false }).end('fault'),
    onError: (error, message) => {
      log.warn({ err: error }, message);
      health.suspect();
    },
  });
  const contextLength = new ContextLength({
    pool: () => enginePools.get(options.engineURL),
    config: () => live.current,
  });
  metrics.engines.inc({ phase: health.verdict.phase });
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
  const enginePool = health.watch(enginePools.get(options.engineURL));
  const replica = startReplica({
    readConfig: () => live.current,
    engineURL: options.engineURL,
    readEngineMetrics: options.readEngineMetrics ?? null,
    isEngineReady: () => health.isReady,
    isDraining: () => drain.isDraining,
    onEngineLost: () => health.suspect(),
    sleep,
    enginePool,
    peerToken: options.peerToken,
    self,
    sendHeartbeat: (own, heard) => heartbeat(connection.redis, { namespace, name, heartbeat: own, heard }),
    countAbandoned: () => abandoned.jobs,
    onHeartbeatError: logUnlessAway('heartbeat failed'),
    onPeerOrigins: (origins) => app.keepPeers(origins),
    onPrefixChoice: (choice) => metrics.prefixChoices.add(1, choice),
    tracer,
  });
  setDocumentationSite(live.current.documentationURL);
  live.onChange(({ documentationURL }) => setDocumentationSite(documentationURL));
  live.onChange(({ sleeping }) => {
    sleep.tell(sleeping?.includes(self.pod) ?? false);
    replica.announce();
    // It may be cordoned or paused no more.
    worker?.wake();
  });
  const meter = new UsageMeter({ redis: connection.redis, log, queues: metrics.queues });
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
    metrics,
    usage,
    log,
    onEngineLost: () => health.suspect(),
    isEnding: () => drain.isDraining && drain.remainingMs < KILL_MS,
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
    drain,
    replica,
    wakeWorker: () => worker?.wake(true),
    stop: async () => {
      activity.setClosing(true);
      const retired = replica
        .retire()
        .then(() => leave(connection.redis, { namespace, name, pod: self.pod }))
        .catch(() => {});
      if (isKillNear(drain)) await Promise.all([endWithinGrace(server, activity, app), worker?.stop(0)]);
      else {
        await Promise.all([retired, drain.settle()]);
        const withinMs = Math.max(MIN_CLOSE_MS, drain.remainingMs);
        await Promise.all([closeServer(server, withinMs), worker?.stop(withinMs)]);
      }
      health.stop();
      metrics.engines.dec({ phase: health.verdict.phase });
      live.close();
      await app.close();
      await meter.close();
      await replica.close();
      await enginePools.destroy();
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
  | 'usage'
>;

/** For other kinds of models nothing is ever queued. */
const isQueued = ({ kind }: Pick<GatewayConfig, 'kind'>): boolean => kind === 'Image' || kind === 'Video';

function buildWorker(
  { initialConfig, storage, connection, self, metrics, log, tracer = null }: ModelEndpointOptions,
  parts: WorkerParts,
): Worker | null {
  if (!isQueued(initialConfig)) return null;
  return startWorker({ ...parts, redis: connection.redis, storage, pod: self.pod, metrics, log, tracer });
}

const MIN_CLOSE_MS = 1_000;

/** The kubelet kills 2 s after its signal, however little grace there was. */
const KILL_MS = 2_000;
const IN_FLIGHT_MS = 800;
/** kube-proxy may route here for this long. */
const LISTENING_MS = 700;
const FLUSH_MS = 200;
const ENDING = new ApiError('no_pod_available', 'The replica is shutting down.', { retryAfter: 2 });

/** The kubelet's hook still waits for the drain, or the drain took all of its time: the pod's time is over. */
const isKillNear = (drain: Drain): boolean =>
  drain.isAwaited || (drain.isDraining && drain.remainingMs < KILL_MS);

/** Refuses what still comes, gives what is in flight a moment, and answers all in the envelope before the kill. */
async function endWithinGrace(
  server: Server,
  activity: Activity,
  { cutOff }: Pick<SidecarApp, 'cutOff'>,
): Promise<void> {
  cutOff.refuse(ENDING);
  await sleep(IN_FLIGHT_MS);
  cutOff.end(activity.open, ENDING);
  await sleep(LISTENING_MS);
  await closeServer(server, FLUSH_MS);
}
/** A deployment of jobs runs few at a time, each for long. */
const JOB_BOUNDS: Partial<EngineBounds> = { stalledWorks: 2 };

function readStalledMs({ kind, limits, engineStalledMs }: GatewayConfig): number {
  if (engineStalledMs !== undefined) return engineStalledMs;
  const { requestTimeoutMs, imageJobTimeoutMs, videoTimeoutMs } = limits;
  if (kind === 'Video') return defaultStalledMs(videoTimeoutMs);
  // An older operator publishes no limit of image jobs.
  return defaultStalledMs(kind === 'Image' ? (imageJobTimeoutMs ?? videoTimeoutMs) : requestTimeoutMs);
}
