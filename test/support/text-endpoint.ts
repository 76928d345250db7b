/** An endpoint in this process: the gateway's real app and server, with a given engine and a real Redis. */

import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { hashApiKey } from '../../api/identity.ts';
import type { PublishedKey } from '../../api/redis-keys.ts';
import type { Capacity } from '../../gateway/capacity/capacity.ts';
import type { Replica } from '../../gateway/capacity/replica.ts';
import { ReplicaCapacity, Slots } from '../../gateway/capacity/replica-capacity.ts';
import type { LocalEngine } from '../../gateway/health/local-engine.ts';
import { createServer } from '../../gateway/http/server.ts';
import type { StorageServices } from '../../gateway/jobs/services.ts';
import { createSidecarApp, type SidecarApp, type SidecarAppOptions } from '../../gateway/sidecar/app.ts';
import { createLog } from '../../gateway/telemetry/log.ts';
import { createMetrics, type GatewayMetrics } from '../../gateway/telemetry/metrics.ts';
import { DeploymentUsage } from '../../gateway/telemetry/usage.ts';
import type { Traffic } from '../../gateway/traffic/traffic.ts';
import { Pools } from '../../gateway/upstream/pools.ts';
import type { RedisConnection } from '../../redis/client.ts';
import { describeEngine } from './local-engine.ts';
import { describeModel } from './model-replica.ts';
import { PUBLIC_ONLY } from './public-egress.ts';
import { publishApiKey } from './publication.ts';

export interface TextEndpointOptions {
  connection: RedisConnection;
  engineURL: string;
  /** Over an engine that is healthy. */
  engine?: Partial<LocalEngine>;
  capacity?: Capacity;
  readPrefix?: Replica['readPrefix'];
  telemetry?: Partial<SidecarAppOptions['telemetry']>;
  egress?: SidecarAppOptions['egress'];
  storage?: StorageServices;
  /** Hops to other versions. */
  traffic?: Traffic;
  isEnding?: () => boolean;
  clocks?: SidecarAppOptions['clocks'];
  /** Over the defaults. */
  settings?: Partial<GatewayConfig>;
  limits?: Partial<GatewayConfig['limits']>;
}

export interface TextEndpoint {
  origin: string;
  port: number;
  config: GatewayConfig;
  slots: Slots;
  /** Runs lines of batches. */
  lines: SidecarApp['lines'];
  metrics: GatewayMetrics;
  /** Creates a key, by default with high limits. */
  makeKey(fields?: Partial<PublishedKey>): Promise<string>;
  stop(): Promise<void>;
}

let made = 0;

export async function startTextEndpoint(options: TextEndpointOptions): Promise<TextEndpoint> {
  const { connection, engineURL, settings, limits, egress = PUBLIC_ONLY, storage = null, clocks } = options;
  const base = describeModel(settings?.kind && { kind: settings.kind });
  const config = { ...base, ...settings, limits: { ...base.limits, ...limits } };
  const slots = new Slots(() => config.concurrency);
  const metrics = createMetrics();
  const engine = describeEngine(engineURL, {
    onResend: () => metrics.resent.inc({ to: 'engine' }),
    ...options.engine,
  });
  const peers = { acquire: async () => ({ refusal: 'full' as const }) };
  const local = new ReplicaCapacity({ slots, engineURL, isEngineReady: () => true, peers });
  const peerPools = new Pools();
  const app = createSidecarApp({
    config: () => config,
    redis: connection.redis,
    engine,
    replica: { capacity: options.capacity ?? local, readPrefix: options.readPrefix ?? (() => null) },
    peers: { pools: peerPools, token: null, traffic: options.traffic ?? null },
    telemetry: {
      log: createLog('silent'),
      metrics,
      tracer: null,
      usage: new DeploymentUsage(),
      ...options.telemetry,
    },
    egress,
    storage,
    isEnding: options.isEnding ?? (() => false),
    clocks,
  });
  const server = createServer(app.listener, () => config.limits);
  const port = await listen(server);
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    config,
    slots,
    lines: app.lines,
    metrics,
    makeKey: async (fields = {}) => {
      const key = `sk-test-${++made}-${process.pid}`;
      const published = {
        n: `key-${made}`,
        rpm: 100_000,
        tpd: 1_000_000_000,
        exp: 0,
        off: 0 as const,
        ...fields,
      };
      await publishApiKey(connection.redis, config.namespace, hashApiKey(key), published);
      return key;
    },
    stop: async () => {
      await close(server);
      await app.close();
      await Promise.all([engine.close(), peerPools.destroy()]);
    },
  };
}

/** An engine whose responses the test writes. */
export async function startScriptedEngine(
  listener: RequestListener,
): Promise<{ url: string; stop(): Promise<void> }> {
  const server = createHttpServer(listener);
  return { url: `http://127.0.0.1:${await listen(server)}`, stop: () => close(server) };
}

const listen = (server: Server): Promise<number> =>
  new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });

const close = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
