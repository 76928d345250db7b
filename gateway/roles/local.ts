/** All of `make run` in one process: every deployment on a loopback port of its own, and the front. */
import type { RequestListener, Server } from 'node:http';
import type { GatewayConfig } from '../../contract/gateway-config.ts';
import { ADMIN_PATHS } from '../../contract/gateway-environment.ts';
import { modelLimits, resolveLimits } from '../../contract/model-limits.ts';
import { channels } from '../../contract/redis-keys.ts';
import { connectRedis, type RedisConnection, type RedisSettings, subscribe } from '../../redis/client.ts';
import { readDeployment } from '../../redis/published.ts';
import { createAdminServer, createMetricsServer, OK, unavailable } from '../admin/server.ts';
import { EgressAgent } from '../egress/agent.ts';
import type { LocalDeployment, LocalEnvironment } from '../environment.ts';
import { createFrontApp, type FrontAppOptions } from '../front/app.ts';
import { ReplicaPicker } from '../front/replica-picker.ts';
import { startHousekeeping } from '../housekeeping/housekeeping.ts';
import { createLog, type Logger } from '../log.ts';
import { createMetrics, type GatewayMetrics } from '../metrics.ts';
import { Pools } from '../relay/pools.ts';
import { createServer } from '../server.ts';
import { closeServer, listen } from '../shutdown.ts';
import { UsageMeter } from '../usage.ts';
import { openDirectory } from './front.ts';
import { type ModelEndpoint, startModelEndpoint } from './model-endpoint.ts';
import { logRedisState } from './redis-state.ts';
import { openLocalStorage, type ServerStorage } from './server-storage.ts';
import { openWebhookDelivery } from './webhook-delivery.ts';

export interface Local {
  stop(): Promise<void>;
}

const REDIS_START_MS = 10_000;
const ADMIN_CLOSE_MS = 200;
const LOOPBACK = '127.0.0.1';

interface LocalParts {
  environment: LocalEnvironment;
  storage: ServerStorage;
  connection: RedisConnection;
  metrics: GatewayMetrics;
  log: Logger;
}

/** Listens when it resolves. Redis must be there, with the configurations of all deployments. */
export async function startLocal(environment: LocalEnvironment): Promise<Local> {
  const log = createLog(environment.logLevel, { role: 'local' });
  const metrics = createMetrics();
  const settings: RedisSettings = {
    url: environment.redisURL,
    username: environment.redisUsername,
    password: environment.redisPassword,
    caFile: environment.redisCAFile,
    name: 'local',
    role: 'local',
  };
  const connection = connectRedis(settings);
  await connection.untilUp(REDIS_START_MS);
  logRedisState(connection, log);
  const directory = openDirectory(connection);
  const storage = await openLocalStorage({
    environment: environment.storage,
    redis: connection.redis,
    egress: environment.egress,
    host: environment.host ?? LOOPBACK,
  });
  const pools = new Pools();
  const proxy = { pools, picker: new ReplicaPicker(), replicaPort: environment.httpPort };
  const egress = new EgressAgent(environment.egress);
  const { redis } = connection;
  const usage = new UsageMeter({ redis, log });
  const front: FrontAppOptions = {
    directory,
    proxy,
    redis,
    storage: storage.services,
    egress,
    log,
    metrics,
    usage,
  };
  const parts: LocalParts = { environment, storage, connection, metrics, log };

  const servers: Server[] = [];
  const endpoints: ModelEndpoint[] = [];
  for (const deployment of environment.deployments) {
    const config = await readConfig(connection, deployment);
    if (deployment.engineURL !== null)
      endpoints.push(await serveModel(parts, config, { ...deployment, engineURL: deployment.engineURL }));
    else
      servers.push(await serveFront(parts, deployment.port, createFrontApp({ ...front, fixed: deployment })));
  }
  servers.push(await serveFront(parts, environment.frontPort, createFrontApp(front)));

  const refresh = () => {
    directory.expire();
    for (const { live, wakeWorker } of endpoints) {
      void live.refresh();
      wakeWorker();
    }
  };
  const workers = new Map(
    endpoints.map(({ live, wakeWorker }) => [
      channels.jobs(live.current.namespace, live.current.name),
      wakeWorker,
    ]),
  );
  const subscription = subscribe(settings, [channels.front, ...workers.keys()], {
    onMessage: (_, channel) => (workers.get(channel) ?? refresh)(),
    onResume: refresh,
  });
  const admin = createAdminServer({
    [ADMIN_PATHS.healthz]: () => OK,
    [ADMIN_PATHS.readyz]: () =>
      endpoints.every(({ health }) => health.isReady) ? OK : unavailable('an engine is not healthy yet'),
  });
  const metricsServer = createMetricsServer(metrics);
  servers.push(admin, metricsServer);
  await listen(admin, environment.adminPort, environment.host);
  await listen(metricsServer, environment.metricsPort, environment.host);
  const housekeeping = startHousekeeping({ connection, stores: storage.stores, log, metrics });
  const webhooks = openWebhookDelivery({
    redis,
    settings,
    masterKey: environment.storage.masterKey,
    egress: environment.egress,
    mail: environment.mail,
    log,
    metrics,
  });
  log.info({ port: environment.frontPort, deployments: environment.deployments.length }, 'listening');

  return {
    stop: async () => {
      await Promise.all(endpoints.map((endpoint) => endpoint.stop()));
      await Promise.all(servers.map((server) => closeServer(server, ADMIN_CLOSE_MS)));
      await Promise.all([housekeeping.close(), webhooks.close(), usage.close()]);
      await pools.destroy();
      await storage.close();
      await egress.close();
      await subscription.close();
      await connection.close();
    },
  };
}

async function readConfig(
  connection: RedisConnection,
  { namespace, name }: LocalDeployment,
): Promise<GatewayConfig> {
  const config = await readDeployment(connection.redis, namespace, name);
  if (config) return config;
  throw new Error(`no configuration of ${namespace}/${name} is published`, { cause: 'local' });
}

function serveModel(
  parts: LocalParts,
  initialConfig: GatewayConfig,
  deployment: LocalDeployment & { engineURL: string },
): Promise<ModelEndpoint> {
  const { environment, storage, connection, metrics, log } = parts;
  const { namespace, name, port } = deployment;
  const host = environment.host ?? LOOPBACK;
  return startModelEndpoint({
    initialConfig,
    connection,
    engineURL: deployment.engineURL,
    engineHealthPath: deployment.healthPath,
    // One replica each: nobody is told it.
    peerToken: crypto.randomUUID(),
    self: { pod: `local-${name}`, address: host, port },
    host,
    drainTimeoutMs: environment.drainTimeoutMs,
    egress: environment.egress,
    storage: storage.services,
    metrics,
    log: log.child({ deployment: `${namespace}/${name}` }),
  });
}

async function serveFront(
  { environment }: LocalParts,
  port: number,
  listener: RequestListener,
): Promise<Server> {
  const limits = resolveLimits(modelLimits.parse({}));
  const server = createServer(listener, () => limits);
  await listen(server, port, environment.host);
  return server;
}
