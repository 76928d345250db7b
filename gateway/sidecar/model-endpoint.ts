/** One deployment served beside its engine. */
import type { Server } from 'node:http';
import { listBatchPaths } from '../../api/batch.ts';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { hopToken } from '../../api/identity.ts';
import { listen } from '../../kit/http-server.ts';
import { isRedisAway, type RedisConnection } from '../../redis/client.ts';
import { heartbeat, leave } from '../../redis/heartbeats/heartbeats.ts';
import { readDeployment, readReplicas } from '../../redis/publication/published.ts';
import type { BatchWorker } from '../batches/batch-worker.ts';
import { startReplica } from '../capacity/replica.ts';
import { Slots } from '../capacity/replica-capacity.ts';
import type { EgressSettings } from '../egress/agent.ts';
import { Activity } from '../http/activity.ts';
import { setDocumentationSite } from '../http/error-response.ts';
import { createServer } from '../http/server.ts';
import type { JobCounts, StorageServices } from '../jobs/services.ts';
import { startWorker } from '../jobs/worker.ts';
import { sampleLoad } from '../telemetry/load-sample.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { UsageMeter } from '../telemetry/usage.ts';
import { Traffic } from '../traffic/traffic.ts';
import { Pools } from '../upstream/pools.ts';
import { serveAdapters } from './adapters.ts';
import { createSidecarApp } from './app.ts';
import { Drain } from './drain.ts';
import { startLines } from './line-slots.ts';
import { type LiveConfig, watchConfig } from './live-config.ts';
import { createPassOn } from './passing-on.ts';
import { endWork, isDrainOverdue } from './shutdown.ts';
import { type EngineAddress, isQueued, WatchedEngine } from './watched-engine.ts';

export interface ModelEndpointOptions {
  initialConfig: GatewayConfig;
  connection: RedisConnection;
  engine: EngineAddress;
  /** `storage`: the tokens of hops derive from it; '': there is none, and no hops. */
  tokens: { peer: string; storage: string };
  /** What peers see of this replica. */
  self: { pod: string; address: string; port: number };
  /** Address to listen on; undefined = all. */
  host: string | undefined;
  drainTimeoutMs: number;
  egress: EgressSettings;
  storage: StorageServices;
  telemetry: Telemetry;
}

export interface ModelEndpoint {
  server: Server;
  live: LiveConfig;
  engine: Pick<WatchedEngine, 'health' | 'unwatchedPool'>;
  /** Whether its engine serves all that it can: after a start, it has tried to load its adapters. */
  isReady(): boolean;
  drain: Drain;
  /** A message on the deployment's `channels.jobs`, or a renewed subscription: jobs may be queued. */
  wakeWorker(): void;
  /** Keys or credit have changed, or may have. */
  refreshLimits(): void;
  /** Graceful shutdown: leaves the registry, finishes requests in flight, then stops the rest. */
  stop(): Promise<void>;
}

/** Listens when it resolves. Needs neither Redis nor the engine for that. */
export async function startModelEndpoint(options: ModelEndpointOptions): Promise<ModelEndpoint> {
  const { connection, self, tokens, storage, egress } = options;
  const { redis } = connection;
  const { log, metrics, tracer } = options.telemetry;
  const { namespace, name } = options.initialConfig;
  const logUnlessAway = (message: string) => (error: unknown) => {
    if (!isRedisAway(error)) log.warn({ err: error }, message);
  };
  const live = watchConfig({
    initial: options.initialConfig,
    read: () => readDeployment(redis, namespace, name),
    onError: logUnlessAway('published configuration is invalid; keeping the last valid one'),
  });
  const config = () => live.current;
  const activity = new Activity();
  const slots = new Slots(() => config().concurrency);
  const jobs: JobCounts = { running: 0, abandoned: 0 };
  const engine = new WatchedEngine({ address: options.engine, config, slots, metrics, log });
  let lines: BatchWorker | null = null;
  const drain = new Drain({
    activity,
    // A chunk may have no line in a slot for a moment.
    countWork: () => slots.inflight + jobs.running + (lines?.running ?? 0),
    isEngineLost: engine.isLost,
    timeoutMs: options.drainTimeoutMs,
  });
  const meter = new UsageMeter({ redis, log, metrics });
  const usage = meter.of(namespace, name, isQueued(options.initialConfig));
  const hopTokenOf =
    tokens.storage === '' ? null : (deployment: string) => hopToken(tokens.storage, deployment);
  const traffic =
    hopTokenOf &&
    new Traffic({
      config,
      token: hopTokenOf,
      readReplicas: (deployment) => readReplicas(redis, namespace, deployment),
      port: self.port,
      busy: slots.busy,
      onResend: () => metrics.resent.inc({ to: 'replica' }),
    });
  const peerPools = new Pools({ onResend: () => metrics.resent.inc({ to: 'replica' }) });
  const replica = startReplica({
    config,
    engine,
    slots,
    isDraining: () => drain.isDraining,
    tokens: { peer: tokens.peer, hop: hopTokenOf?.(name) ?? null },
    self,
    peerPools,
    heartbeat: {
      send: (own, knownEdition) => heartbeat(redis, { namespace, name, heartbeat: own, knownEdition }),
      countAbandoned: () => jobs.abandoned,
      // A deployment's peak is that of a replica with work; the others write nothing.
      onSecond: (own, peers) => {
        if (slots.busy.level > 0) sampleLoad(usage, own, peers);
      },
      onError: logUnlessAway('heartbeat failed'),
    },
    onPrefixChoice: (choice) => metrics.prefixChoices.add(1, choice),
    tracer,
  });
  const telemetry = { ...options.telemetry, usage };
  const worker = isQueued(options.initialConfig)
    ? startWorker({ config, redis, storage, engine, slots, jobs, pod: self.pod, telemetry })
    : null;
  const app = createSidecarApp({
    config,
    redis,
    engine,
    replica,
    peers: { pools: peerPools, token: tokens.peer, traffic },
    telemetry,
    egress,
    storage,
    isEnding: () => isDrainOverdue(drain),
  });

  lines =
    listBatchPaths(options.initialConfig).length === 0
      ? null
      : startLines({ config, redis, storage, log, slots, engine, replica, drain, runner: app.lines, self });
  const announce = () => {
    replica.announce();
    worker?.wake();
    lines?.wake();
  };
  engine.onPhaseChange((now, before) => {
    if (now.isReady && !before.isReady) drain.cancel({ isRestarted: before.phase === 'starting' });
    // Kept-alive connections would stay here, while the Service routes new ones to ready pods.
    activity.setClosing(!now.isReady || drain.isDraining);
    announce();
  });
  engine.onSleepChange(announce);
  drain.onChange((isDraining) => {
    log.info(isDraining ? 'draining' : 'drain canceled');
    replica.announce();
    for (const each of [worker, lines])
      if (isDraining) each?.windDown(drain.remainingMs);
      else each?.resume();
  });
  setDocumentationSite(live.current.documentationURL);
  live.onChange(({ documentationURL, sleeping }) => {
    setDocumentationSite(documentationURL);
    engine.sleep.setDesired(sleeping?.includes(self.pod) ?? false);
    // It may no longer be cordoned or paused.
    announce();
  });
  connection.onStateChange((state) => {
    if (state === 'up') announce();
  });

  const adapters = serveAdapters({
    ...options,
    peerToken: tokens.peer,
    live,
    engine,
    slots,
    base: replica,
    activity,
    drain,
    meter,
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
    engine,
    isReady: () => engine.isReady() && !adapters.isStarting(),
    drain,
    wakeWorker: () => {
      worker?.wake(true);
      lines?.wake();
    },
    refreshLimits: () => {
      app.refreshLimits();
      adapters.refreshLimits();
    },
    stop: async () => {
      activity.setClosing(true);
      const retired = replica
        .retire()
        .then(() => leave(redis, { namespace, name, pod: self.pod }))
        .catch(() => {});
      const passOn = createPassOn({ pools: peerPools, listOpen: () => replica.listOpenPeers(), self });
      const work = { server, activity, cutOff: app.cutOff, drain, worker, retired, passOn };
      await Promise.all([endWork(work), lines?.stop(drain.remainingMs), adapters.stop()]);
      engine.stop();
      live.close();
      await app.close();
      await meter.close();
      await replica.close();
      await Promise.all([peerPools.destroy(), traffic?.close(), engine.close()]);
    },
  };
}
