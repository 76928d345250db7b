/** One replica of a deployment: its engine's slots, and its heartbeats to and from peers. */

import type { Dispatcher } from 'undici';
import { listEnginePaths } from '../../api/engine-routes.ts';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { VERSION } from '../../api/names.ts';
import type { Heartbeat } from '../../api/redis-keys.ts';
import type { PeerUpdate } from '../../redis/heartbeats/heartbeats.ts';
import type { Tracer } from '../tracing/span.ts';
import type { Pools } from '../upstream/pools.ts';
import type { Capacity } from './capacity.ts';
import { EngineQueue } from './engine-queue.ts';
import type { EngineSleep } from './engine-sleep.ts';
import { type HeartbeatOptions, Heartbeats } from './heartbeats.ts';
import { createPeerRoutes, type PeerRoutes } from './peer-routes.ts';
import { formatOrigin, Peers, rankPeers } from './peers.ts';
import { PrefixBalance, type PrefixChoice } from './prefix-balance.ts';
import { ReplicaCapacity, type Slots } from './replica-capacity.ts';
import { Reservations } from './reservations.ts';
import { SlotLine, SlotQueue } from './slot-queue.ts';
import { WakingCapacity } from './waking-capacity.ts';

/** All engines load an adapter at about the same time. */
const ADAPTER_EAGER_MS = 10_000;

export interface ReplicaOptions {
  config: () => GatewayConfig;
  engine: ReplicaEngine;
  slots: Slots;
  isDraining: () => boolean;
  /** `hop`: what other deployments' replicas send; null: none do. */
  tokens: { peer: string; hop: string | null };
  /** What peers see of this replica. */
  self: { pod: string; address: string; port: number };
  /** Connections to peers; kept only to those that are there. */
  peerPools: Pools;
  heartbeat: {
    send: (own: Omit<Heartbeat, 'at'>, knownEdition: string) => Promise<PeerUpdate>;
    /** Abandoned jobs that the engine still works on. */
    countAbandoned: () => number;
    onSecond?: HeartbeatOptions['onSecond'];
    onError: (error: unknown) => void;
  };
  /** Called for each request with a routing prefix. */
  onPrefixChoice?: (choice: PrefixChoice) => void;
  /** For an adapter, which has neither slots nor load of its own. */
  adapter?: AdapterSide;
  /** null: no tracing. */
  tracer: Tracer | null;
}

/** The same engine's endpoint for an adapter, beside that of the base. */
export interface AdapterSide {
  /** The base's, which serves it. */
  line: SlotLine;
  /** The load of the base at a peer. */
  loadOf: Replica['loadOf'];
  /** Whether a peer can answer what is answered here. */
  isAlike: (peer: Heartbeat) => boolean;
  /** `inflight`: its own requests, for which its peers must be known as they are now. */
  describe: () => Pick<Heartbeat, 'adapter' | 'adapterError' | 'inflight'>;
  onPeers: (peers: readonly Heartbeat[]) => void;
}

interface ReplicaEngine {
  url: string;
  /** Connections to it. */
  pool: Dispatcher;
  isReady: () => boolean;
  /** It failed a request. */
  suspect: () => void;
  /** Its metrics as text; null: it has none. */
  readMetrics: (() => Promise<string>) | null;
  sleep: Pick<EngineSleep, 'isAwake' | 'isAsleep' | 'wake'>;
}

export interface Replica {
  capacity: Capacity;
  /** Those that wait for a slot. */
  line: SlotLine;
  /** The prefix of a prompt by its parts, see `Caller.prefix`. */
  readPrefix: (parts: readonly unknown[]) => number | null | undefined;
  peerRoutes: PeerRoutes;
  /** Peers that may receive work, least loaded first. */
  listOpenPeers(): Heartbeat[];
  /** What the peer of a pod last said of its load. */
  loadOf(pod: string): Pick<Heartbeat, 'inflight' | 'limit' | 'waiting' | 'at'> | undefined;
  /** Requests that wait within the engine; null while unknown. */
  countInEngine(): number | null;
  /** Announces a change to the peers soon. */
  announce(): void;
  /** Sends no more heartbeats; requests in flight continue. */
  retire(): Promise<void>;
  close(): Promise<void>;
}

/** None unless a deployment names this one: every pod of the workspace can derive the token. */
const listHopPaths = ({ trafficFrom, routes }: GatewayConfig): readonly string[] | null =>
  trafficFrom === undefined ? null : listEnginePaths(routes);

export function startReplica(options: ReplicaOptions): Replica {
  const { config, engine, slots, tokens, self, isDraining, peerPools, heartbeat, adapter } = options;
  const { isReady: isEngineReady, sleep, readMetrics } = engine;
  const isEngineOpen = () => isEngineReady() && sleep.isAwake;
  const queue = readMetrics && new EngineQueue({ read: readMetrics, inflight: () => slots.inflight });
  const describeQueue = () => {
    const { waiting = null, running = null, cacheUse = null } = queue ?? {};
    return {
      ...(waiting !== null && { waiting }),
      ...(running !== null && { running }),
      ...(cacheUse !== null && { cacheUse }),
    };
  };
  // An idle adapter's beats stay the same whatever its base does: many of them must cost Redis little.
  const { boot, activeAt } = slots.busy.read();
  const idle = { boot, activeAt, busyMs: 0, arrivals: 0 };
  const heartbeats = new Heartbeats({
    describe: () => ({
      v: 1,
      ...self,
      // Peers and scaling see no lines, which yield their slots.
      inflight: slots.taken,
      ...describeQueue(),
      ...(countQueued() > 0 && { queued: countQueued() }),
      limit: slots.limit,
      ready: isEngineReady(),
      ...(sleep.isAsleep && { asleep: true }),
      ...(heartbeat.countAbandoned() && { abandoned: heartbeat.countAbandoned() }),
      ...adapter?.describe(),
      draining: isDraining(),
      version: VERSION,
      ...(adapter ? idle : slots.busy.read()),
    }),
    send: heartbeat.send,
    onPeers: (peers) => {
      peerPools.keepOnly(new Set(peers.map(({ address, port }) => formatOrigin(address, port))));
      balance.keepOnly(peers);
      adapter?.onPeers(peers);
    },
    onSecond: heartbeat.onSecond,
    onError: heartbeat.onError,
    eagerMs: adapter && ADAPTER_EAGER_MS,
  });
  const stopPoking = adapter ? () => {} : slots.onCrossing(() => heartbeats.poke());
  const listPeers = () =>
    adapter
      ? heartbeats.peers.filter(adapter.isAlike).map((peer) => ({ ...peer, ...adapter.loadOf(peer.pod) }))
      : heartbeats.peers;

  const isShared = () => config().kind === 'Image';
  const cordoned = () => config().cordoned;
  const peers = new Peers({
    token: tokens.peer,
    list: listPeers,
    pools: peerPools,
    cordoned,
    pod: self.pod,
  });
  const isCordoned = () => cordoned().includes(self.pod);
  const balance = new PrefixBalance({
    isOn: () => config().balance === 'Prefix',
    secret: tokens.peer,
    pod: self.pod,
    slots: {
      get inflight() {
        return slots.taken;
      },
      get limit() {
        return slots.limit;
      },
    },
    isOwnOpen: () => isEngineOpen() && !isCordoned(),
    isLeaving: isDraining,
    list: listPeers,
    peers,
    onChoice: options.onPrefixChoice,
  });
  const capacity = new ReplicaCapacity({
    slots,
    engineURL: engine.url,
    isEngineReady: isEngineOpen,
    isLeaving: () => isCordoned() || isDraining(),
    peers,
    balance,
  });
  const line = adapter?.line ?? new SlotLine();
  // The line of the base has those of all endpoints, as its slots do.
  const countQueued = () => (adapter ? slotQueue.waiting : line.size);
  const slotQueue = new SlotQueue({
    capacity,
    takeLocal: () => capacity.takeLocal(),
    waitMs: () => config().limits.waitForSlotMs,
    isShared,
    busy: slots.busy,
    line,
    isOpen: isEngineOpen,
  });
  const stopServing = adapter ? () => {} : slots.onCrossing(() => slotQueue.serve());
  return {
    line,
    capacity: new WakingCapacity({ capacity: slotQueue, sleep, isEngineReady, busy: slots.busy }),
    readPrefix: (parts) => balance.read(parts),
    peerRoutes: createPeerRoutes({
      token: tokens.peer,
      hops: tokens.hop === null ? null : { token: tokens.hop, listPaths: () => listHopPaths(config()) },
      reservations: new Reservations(slots),
      enginePool: engine.pool,
      isOpen: () => isEngineOpen() && !isDraining(),
      isOpenToHops: () => isEngineOpen() && !isDraining() && !isCordoned() && slotQueue.waiting === 0,
      balance,
      onEngineLost: engine.suspect,
      tracer: options.tracer,
    }),
    listOpenPeers: () => rankPeers(peers.listOpen()),
    loadOf: (pod) => {
      const peer = heartbeats.peers.find((each) => each.pod === pod);
      if (!peer) return undefined;
      const { inflight, limit, waiting, at } = peer;
      return { inflight, limit, at, ...(waiting !== undefined && { waiting }) };
    },
    countInEngine: () => queue?.waiting ?? null,
    announce: () => heartbeats.poke(),
    retire: () => heartbeats.close(),
    close: async () => {
      stopPoking();
      stopServing();
      queue?.close();
      await heartbeats.close();
    },
  };
}
