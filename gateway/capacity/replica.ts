/** One replica of a deployment: its engine's slots, and its heartbeats to and from peers. */

import type { Dispatcher } from 'undici';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { VERSION } from '../../api/names.ts';
import type { Heartbeat } from '../../api/redis-keys.ts';
import type { PeerUpdate } from '../../redis/heartbeats/heartbeats.ts';
import type { Tracer } from '../tracing/span.ts';
import { Pools } from '../upstream/pools.ts';
import type { Capacity } from './capacity.ts';
import { EngineQueue } from './engine-queue.ts';
import type { EngineSleep } from './engine-sleep.ts';
import { Heartbeats } from './heartbeats.ts';
import { createPeerRoutes, type PeerRoutes } from './peer-routes.ts';
import { formatOrigin, Peers, rankPeers } from './peers.ts';
import { PrefixBalance, type PrefixChoice } from './prefix-balance.ts';
import { ReplicaCapacity, Slots } from './replica-capacity.ts';
import { Reservations } from './reservations.ts';
import { SlotQueue } from './slot-queue.ts';
import { WakingCapacity } from './waking-capacity.ts';

export interface ReplicaOptions {
  readConfig: () => GatewayConfig;
  engineURL: string;
  /** The engine's metrics as text; null: it has none. */
  readEngineMetrics: (() => Promise<string>) | null;
  isEngineReady: () => boolean;
  isDraining: () => boolean;
  onEngineLost: () => void;
  sleep: Pick<EngineSleep, 'isAwake' | 'isAsleep' | 'wake'>;
  /** Connections to the engine. */
  enginePool: Dispatcher;
  peerToken: string;
  /** What peers see of this replica. */
  self: { pod: string; address: string; port: number };
  sendHeartbeat: (own: Omit<Heartbeat, 'at'>, knownEdition: string) => Promise<PeerUpdate>;
  /** Abandoned jobs that the engine still works on. */
  countAbandoned?: () => number;
  onHeartbeatError: (error: unknown) => void;
  /** A question to a peer is sent once more. */
  onResend?: () => void;
  /** Called with the origins of the peers when they change, so that connections to others can be closed. */
  onPeerOrigins?: (origins: ReadonlySet<string>) => void;
  /** Called for each request with a routing prefix. */
  onPrefixChoice?: (choice: PrefixChoice) => void;
  /** null or absent: no tracing. */
  tracer?: Tracer | null;
}

export interface Replica {
  capacity: Capacity;
  slots: Slots;
  /** Of a prompt by its parts, see `Caller.prefix`. */
  readPrefix: (parts: readonly unknown[]) => number | null | undefined;
  peerRoutes: PeerRoutes;
  /** Peers that may receive work, least loaded first. */
  listOpenPeers(): Heartbeat[];
  /** Announces a change to the peers soon. */
  announce(): void;
  /** Sends no more heartbeats; requests in flight continue. */
  retire(): Promise<void>;
  close(): Promise<void>;
}

export function startReplica(options: ReplicaOptions): Replica {
  const { self, engineURL, readEngineMetrics, isEngineReady, isDraining, sleep } = options;
  const isEngineOpen = () => isEngineReady() && sleep.isAwake;
  const slots = new Slots(() => options.readConfig().concurrency);
  const queue =
    readEngineMetrics && new EngineQueue({ read: readEngineMetrics, inflight: () => slots.inflight });
  const describeQueue = () => {
    const waiting = queue?.waiting ?? null;
    return waiting === null ? {} : { waiting };
  };
  const peerPools = new Pools({ onResend: options.onResend });
  const heartbeats = new Heartbeats({
    describe: () => ({
      v: 1,
      ...self,
      inflight: slots.inflight,
      ...describeQueue(),
      limit: slots.limit,
      ready: isEngineReady(),
      ...(sleep.isAsleep && { asleep: true }),
      ...(options.countAbandoned?.() && { abandoned: options.countAbandoned() }),
      draining: isDraining(),
      version: VERSION,
      ...slots.busy.read(),
    }),
    send: options.sendHeartbeat,
    onPeers: (peers) => {
      const origins = new Set(peers.map(({ address, port }) => formatOrigin(address, port)));
      peerPools.keepOnly(origins);
      balance.keepOnly(peers);
      options.onPeerOrigins?.(origins);
    },
    onError: options.onHeartbeatError,
  });
  slots.onCrossing(() => heartbeats.poke());

  const isShared = () => options.readConfig().kind === 'Image';
  const cordoned = () => options.readConfig().cordoned;
  const peers = new Peers({
    token: options.peerToken,
    list: () => heartbeats.peers,
    pools: peerPools,
    cordoned,
    pod: self.pod,
  });
  const isCordoned = () => cordoned().includes(self.pod);
  const balance = new PrefixBalance({
    isOn: () => options.readConfig().balance === 'Prefix',
    secret: options.peerToken,
    pod: self.pod,
    slots,
    isOwnOpen: () => isEngineOpen() && !isCordoned(),
    isLeaving: isDraining,
    list: () => heartbeats.peers,
    peers,
    onChoice: options.onPrefixChoice,
  });
  const capacity = new ReplicaCapacity({
    slots,
    engineURL,
    isEngineReady: isEngineOpen,
    isLeaving: () => isCordoned() || isDraining(),
    peers,
    balance,
  });
  const slotQueue = new SlotQueue({
    capacity,
    takeLocal: () => capacity.takeLocal(),
    waitMs: () => options.readConfig().limits.waitForSlotMs,
    isShared,
    busy: slots.busy,
  });
  slots.onCrossing(() => slotQueue.serve());
  return {
    capacity: new WakingCapacity({ capacity: slotQueue, sleep, isEngineReady, busy: slots.busy }),
    slots,
    readPrefix: (parts) => balance.read(parts),
    peerRoutes: createPeerRoutes({
      token: options.peerToken,
      reservations: new Reservations(slots),
      enginePool: options.enginePool,
      isOpen: () => isEngineOpen() && !isDraining(),
      balance,
      onEngineLost: options.onEngineLost,
      tracer: options.tracer ?? null,
    }),
    listOpenPeers: () => rankPeers(peers.listOpen()),
    announce: () => heartbeats.poke(),
    retire: () => heartbeats.close(),
    close: async () => {
      queue?.close();
      await heartbeats.close();
      await peerPools.destroy();
    },
  };
}
