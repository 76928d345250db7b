/** The endpoint of one LoRA adapter, on a port of its own beside its base's: the same engine and slots, its own keys, limits and usage. */
import type { Server } from 'node:http';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { adapterToken } from '../../api/identity.ts';
import type { Heartbeat } from '../../api/redis-keys.ts';
import { closeServer, listen } from '../../kit/http-server.ts';
import { isRedisAway, type RedisConnection } from '../../redis/client.ts';
import { heartbeat, leave } from '../../redis/heartbeats/heartbeats.ts';
import { type Replica, startReplica } from '../capacity/replica.ts';
import type { Slots } from '../capacity/replica-capacity.ts';
import type { EgressSettings } from '../egress/agent.ts';
import { Activity } from '../http/activity.ts';
import { createServer } from '../http/server.ts';
import type { StorageServices } from '../jobs/services.ts';
import { type LoadReport, sampleLoad } from '../telemetry/load-sample.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { UsageMeter } from '../telemetry/usage.ts';
import { Pools } from '../upstream/pools.ts';
import { createSidecarApp } from './app.ts';
import type { Drain } from './drain.ts';
import { createPassOn } from './passing-on.ts';
import { endWork, isDrainOverdue } from './shutdown.ts';
import type { WatchedEngine } from './watched-engine.ts';

/** What an adapter shares with its base. */
export interface BaseParts {
  connection: RedisConnection;
  /** The base's own. */
  peerToken: string;
  self: { pod: string; address: string };
  /** Address to listen on; undefined = all. */
  host: string | undefined;
  egress: EgressSettings;
  storage: StorageServices;
  telemetry: Telemetry;
  engine: WatchedEngine;
  slots: Slots;
  activity: Activity;
  /** The base's own: its line for slots, and the load of its pods. */
  base: Pick<Replica, 'line' | 'loadOf'>;
  drain: Drain;
  meter: UsageMeter;
  /** The engine may not have what it was asked for. */
  onRefusal: () => void;
}

/** An adapter as its engine has it. */
export interface ServedAdapter {
  config(): GatewayConfig;
  /** By the name in the configuration. */
  isLoaded(): boolean;
  /** For its heartbeats. */
  describe(): Pick<Heartbeat, 'adapter' | 'adapterError'>;
  notePeers(peers: readonly Heartbeat[]): void;
}

export interface AdapterEndpoint {
  server: Server;
  /** It was loaded, or is no longer; or the base's state changed. */
  announce(): void;
  refreshLimits(): void;
  /** The pod stops. */
  stop(): Promise<void>;
  /** The pod stays. `left`: peers know, and the port is free. `ended`: so have the requests in flight, which have a drain's time. */
  remove(): { left: Promise<void>; ended: Promise<void> };
}

/** Listens when it resolves; rejects if its port is taken. */
export async function startAdapterEndpoint(served: ServedAdapter, base: BaseParts): Promise<AdapterEndpoint> {
  const { connection, engine, slots, drain, egress, storage } = base;
  const { config } = served;
  const { redis } = connection;
  const { namespace, name, adapter } = config();
  const log = base.telemetry.log.child({ adapter: name });
  const { metrics, tracer } = base.telemetry;
  const self = { ...base.self, port: adapter!.port };
  // Prefixes are hashed with it: equal prompts of two adapters share no cached tokens.
  const token = adapterToken(base.peerToken, name);
  const local = {
    url: engine.url,
    pool: engine.pool,
    unwatchedPool: engine.unwatchedPool,
    ranOutOfMemory: engine.ranOutOfMemory,
    sleep: engine.sleep,
    beginWork: engine.beginWork,
    isLost: engine.isLost,
    suspect: () => {
      engine.suspect();
      base.onRefusal();
    },
    contextLength: engine.contextLength,
    takesTools: engine.takesTools,
    // The base reports the engine's queue.
    readMetrics: null,
    isReady: () => engine.isReady() && served.isLoaded(),
  };
  // Its own requests alone end with it; the base's drain waits for them, too.
  const activity = new Activity();
  /** Those of peers, which count them as their own. */
  const ofPeers = new Activity();
  const server = createServer(
    (req, res) => {
      base.activity.track(res);
      activity.track(res);
      if (replica.peerRoutes(req, res)) return ofPeers.track(res);
      app.listener(req, res);
    },
    () => config().limits,
  );
  // Nothing is said of a port that is taken.
  await listen(server, self.port, base.host);
  const usage = base.meter.of(namespace, name);
  const peerPools = new Pools({ onResend: () => metrics.resent.inc({ to: 'replica' }) });
  const replica = startReplica({
    config,
    engine: local,
    slots,
    adapter: {
      line: base.base.line,
      loadOf: base.base.loadOf,
      isAlike: ({ adapter: loaded }) => loaded === config().servedModelName,
      describe: () => ({ ...served.describe(), inflight: activity.inflight - ofPeers.inflight }),
      onPeers: served.notePeers,
    },
    isDraining: () => drain.isDraining,
    // An adapter is no other deployment's version.
    tokens: { peer: token, hop: null },
    self,
    peerPools,
    heartbeat: {
      send: (own, knownEdition) => heartbeat(redis, { namespace, name, heartbeat: own, knownEdition }),
      countAbandoned: () => 0,
      onSecond: (own, peers) => {
        if (own.inflight > 0) sampleLoad(usage, atEngine(own), peers.map(atEngine));
      },
      onError: (error) => {
        if (!isRedisAway(error)) log.warn({ err: error }, 'heartbeat failed');
      },
    },
    onPrefixChoice: (choice) => metrics.prefixChoices.add(1, choice),
    tracer,
  });
  const app = createSidecarApp({
    config,
    redis,
    engine: local,
    replica,
    peers: { pools: peerPools, token, traffic: null },
    telemetry: { log, metrics, tracer, usage },
    egress,
    storage,
    isEnding: () => isDrainOverdue(drain),
  });
  const close = async () => {
    await app.close();
    await replica.close();
    await peerPools.destroy();
  };
  const retire = () =>
    replica
      .retire()
      .then(() => leave(redis, { namespace, name, pod: self.pod }))
      .catch(() => {});
  return {
    server,
    announce: replica.announce,
    refreshLimits: app.refreshLimits,
    remove: () => {
      activity.setClosing(true);
      const left = retire();
      const ended = Promise.all([left, closeServer(server, drain.remainingMs)]).then(close);
      return { left, ended };
    },
    stop: async () => {
      const retired = retire();
      const passOn = createPassOn({ pools: peerPools, listOpen: () => replica.listOpenPeers(), self });
      await endWork({ server, activity, cutOff: app.cutOff, drain, worker: null, retired, passOn });
      await close();
    },
  };
}

/** Its own count of requests includes those that wait for a slot. */
const atEngine = (report: LoadReport): LoadReport => ({
  ...report,
  inflight: Math.max(0, report.inflight - (report.queued ?? 0)),
});
