/** An image model's gateway in this process, before a real simulator, a real Redis and a folder of results. */

import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Koa from 'koa';
import type { GatewayConfig } from '../../../api/gateway-config.ts';
import type { Heartbeat } from '../../../api/redis-keys.ts';
import { createPeerRoutes } from '../../../gateway/capacity/peer-routes.ts';
import { Peers } from '../../../gateway/capacity/peers.ts';
import { ReplicaCapacity, Slots } from '../../../gateway/capacity/replica-capacity.ts';
import { Reservations } from '../../../gateway/capacity/reservations.ts';
import { createAddressPolicy } from '../../../gateway/egress/address-policy.ts';
import { EgressAgent, type EgressAgentOptions } from '../../../gateway/egress/agent.ts';
import { openFrontStorage } from '../../../gateway/front/front-storage.ts';
import type { ApiError } from '../../../gateway/http/error-response.ts';
import { answerErrors, CutOff } from '../../../gateway/http/errors.ts';
import { type GatewayState, identifyRequest } from '../../../gateway/http/exchange.ts';
import { ROUTES } from '../../../gateway/http/routes.ts';
import { findRoute } from '../../../gateway/http/routing.ts';
import { createListener, createServer } from '../../../gateway/http/server.ts';
import type { StorageServices } from '../../../gateway/jobs/services.ts';
import { buildImageHandlers } from '../../../gateway/media/image-routes.ts';
import type { UrlSigner } from '../../../gateway/storage/url-signer.ts';
import { createLog } from '../../../gateway/telemetry/log.ts';
import { createMetrics, type GatewayMetrics } from '../../../gateway/telemetry/metrics.ts';
import { Pools } from '../../../gateway/upstream/pools.ts';
import type { Shares } from '../../../kit/shares.ts';
import type { RedisConnection } from '../../../redis/client.ts';
import { publishDeployment } from '../../../redis/publication/publication.ts';
import { describeReplica } from '../../support/heartbeat.ts';
import { describeModel, PEER_TOKEN } from '../../support/model-replica.ts';
import type { RedisServer } from '../../support/redis-server.ts';
import { TestStack } from '../../support/test-stack.ts';
import { MODEL, RunningSimulator } from '../../unit/simulator/running-simulator.ts';

export const MASTER_KEY = randomBytes(32).toString('hex');
/** Loopback stands for the public internet here. */
const EGRESS: EgressAgentOptions = {
  allow: ['127.0.0.0/8'],
  deny: [],
  plainHTTP: true,
};

export interface ImagesFixtureOptions {
  settings?: Partial<GatewayConfig>;
  limits?: Partial<GatewayConfig['limits']>;
  /** Replicas beside this one. */
  peers?: readonly ImagesEndpoint[];
  orphanTimeoutMs?: number;
  /** In the front there is no engine. */
  isFront?: boolean;
  /** In place of the simulator. */
  engineURL?: string;
  /** The memory of answers; the process's. */
  memory?: Shares;
  /** In place of a folder. */
  storage?: Partial<StorageServices>;
}

export interface ImagesEndpoint {
  origin: string;
  config: GatewayConfig;
  slots: Slots;
  metrics: GatewayMetrics;
  /** Value of a series in the Prometheus text; 0 if absent. */
  readMetric(series: string): Promise<number>;
  generate(
    body?: object,
    init?: { query?: string; signal?: AbortSignal; headers?: Record<string, string> },
  ): Promise<Response>;
  edit(parts: [name: string, value: string | Buffer][], query?: string): Promise<Response>;
  /** Ends what is in flight, as at the end of a replica's grace period. */
  cutOff(reason: ApiError): void;
  stop(): Promise<void>;
}

export interface ImagesFixture {
  redis: RedisServer;
  connection: RedisConnection;
  simulator: RunningSimulator;
  urlSigner: UrlSigner;
  /** Objects of the managed folder. */
  listManaged(): string[];
  /** Files that wait in the spool. */
  listSpooled(): string[];
  start(options?: ImagesFixtureOptions): Promise<ImagesEndpoint>;
  stop(): Promise<void>;
}

export async function startImagesFixture(): Promise<ImagesFixture> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-images-'));
  const stack = await TestStack.start({}, { commandTimeoutMs: 2_000 });
  const { server: redis, connection } = stack;
  const simulator = await RunningSimulator.start({ kind: 'Image', settings: { jobSeconds: 0 } });
  const storage = await openFrontStorage({
    environment: {
      masterKey: MASTER_KEY,
      bucket: null,
      folder: { path: join(folder, 'managed'), port: 0 },
      spool: { folder: join(folder, 'spool'), maxBytes: 2 ** 28 },
    },
    redis: connection.redis,
    egress: EGRESS,
    host: '127.0.0.1',
  });
  const endpoints: ImagesEndpoint[] = [];
  const base = describeConfig();
  await publishDeployment(connection.redis, base);
  return {
    redis,
    connection,
    simulator,
    urlSigner: storage.services.urlSigner,
    listManaged: () => listFiles(join(folder, 'managed')),
    listSpooled: () => listFiles(join(folder, 'spool')),
    start: async (options = {}) => {
      const endpoint = await startEndpoint(options, { connection, simulator, storage: storage.services });
      endpoints.push(endpoint);
      return endpoint;
    },
    stop: async () => {
      for (const endpoint of endpoints) await endpoint.stop();
      await storage.close();
      await simulator.stop();
      await stack.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const describeConfig = (): GatewayConfig => ({
  ...describeModel(
    {
      kind: 'Image',
      image: { sizes: ['64x64', '256x256'], tasks: ['txt2img', 'img2img'], parameters: ['seed'] },
      model: { id: MODEL, source: { none: {} } },
    },
    { name: 'painter' },
  ),
  servedModelName: MODEL,
});

interface Parts {
  connection: RedisConnection;
  simulator: RunningSimulator;
  storage: StorageServices;
}

async function startEndpoint(
  options: ImagesFixtureOptions,
  { connection, simulator, storage }: Parts,
): Promise<ImagesEndpoint> {
  const base = describeConfig();
  const config = { ...base, ...options.settings, limits: { ...base.limits, ...options.limits } };
  const { engineURL = simulator.url } = options;
  const slots = new Slots(() => config.concurrency);
  const metrics = createMetrics();
  const log = createLog('silent');
  const pools = new Pools();
  const egress = new EgressAgent({ ...EGRESS, policy: createAddressPolicy(EGRESS) });
  const describePeer = ({ origin, slots: { inflight, limit } }: ImagesEndpoint): Heartbeat => {
    const { hostname, port } = new URL(origin);
    const self = { pod: origin, address: hostname, port: Number(port), inflight, limit };
    return { ...describeReplica(self), at: 0 };
  };
  const peers = new Peers({
    token: PEER_TOKEN,
    list: () => (options.peers ?? []).map(describePeer),
    pools,
  });
  const peerRoutes = createPeerRoutes({
    token: PEER_TOKEN,
    hops: null,
    reservations: new Reservations(slots),
    enginePool: pools.get(engineURL),
    isOpen: () => true,
    isOpenToHops: () => true,
    balance: { observe: () => {}, hasShare: () => true, inflight: 0 },
    onEngineLost: () => {},
  });
  const engines = {
    capacity: new ReplicaCapacity({ slots, engineURL, isEngineReady: () => true, peers }),
    findPool: ({ origin }: { origin: string }) => pools.get(origin),
    orphanTimeoutMs: options.orphanTimeoutMs,
    memory: options.memory,
  };
  const handlers: Record<string, (state: GatewayState) => Promise<void>> = buildImageHandlers({
    config: () => config,
    countSlots: () => 1,
    redis: connection.redis,
    storage: { ...storage, ...options.storage },
    egress,
    log,
    metrics,
    findUsage: () => null,
    ...(!options.isFront && engines),
  });
  const app = new Koa<GatewayState>();
  app.use(identifyRequest());
  const model = { provider: 'simulator', model: config.modelId };
  app.use(answerErrors({ log, metrics, findUsage: () => null, model: () => model }));
  const cutOff = new CutOff();
  app.use(cutOff.middleware);
  app.use(findRoute(ROUTES));
  app.use((ctx) => {
    ctx.state.keyHash = 'a'.repeat(64);
    return handlers[ctx.state.route.name]!(ctx.state as GatewayState);
  });
  const answer = createListener(app);
  const answers: ServerResponse[] = [];
  const server = createServer(
    (req, res) => {
      answers.push(res);
      if (!peerRoutes(req, res)) answer(req, res);
    },
    () => config.limits,
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    config,
    slots,
    metrics,
    readMetric: async (series) => {
      const line = (await metrics.render()).split('\n').find((each) => each.startsWith(`${series} `));
      return Number(line?.split(' ').at(-1) ?? 0);
    },
    generate: (body = {}, { query = '', signal, headers } = {}) =>
      fetch(`${origin}/v1/images/generations${query}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ model: config.modelId, prompt: 'a lighthouse', size: '64x64', ...body }),
        signal,
      }),
    edit: (parts, query = '') => {
      const form = new FormData();
      const all = [
        ['model', config.modelId],
        ['prompt', 'at night'],
        ['size', '64x64'],
        ...parts,
      ] as typeof parts;
      for (const [name, value] of all)
        if (typeof value === 'string') form.append(name, value);
        else form.append(name, new Blob([new Uint8Array(value)], { type: 'image/png' }), `${name}.png`);
      return fetch(`${origin}/v1/images/edits${query}`, { method: 'POST', body: form });
    },
    cutOff: (reason) => cutOff.end(answers, reason),
    stop: async () => {
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
      await pools.destroy();
      await egress.close();
    },
  };
}

/** Without a folder's notes of what each object is, and a server's own folders. */
export const listFiles = (folder: string): string[] =>
  (existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : []).filter(
    (path) => !/^(types|\.)/.test(path) && statSync(join(folder, path), { throwIfNoEntry: false })?.isFile(),
  );
