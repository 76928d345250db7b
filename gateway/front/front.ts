/** The shared front: serves all deployments of the cluster by host name. */
import type { RequestListener } from 'node:http';
import { ADMIN_PATHS } from '../../api/gateway-environment.ts';
import { adapterToken, peerToken } from '../../api/identity.ts';
import { modelLimits, resolveLimits } from '../../api/model-limits.ts';
import { channels } from '../../api/redis-keys.ts';
import { createAdminServer, OK, serveMetrics, unavailable } from '../../kit/admin-server.ts';
import { closeServer, listen } from '../../kit/http-server.ts';
import {
  connectRedis,
  isRedisAway,
  type RedisClient,
  type RedisConnection,
  type RedisSettings,
} from '../../redis/client.ts';
import { readDemand } from '../../redis/demand/demand.ts';
import {
  countPublishedPods,
  readCredential,
  readDeployment,
  readHost,
  readReplicas,
  readWorkspaces,
} from '../../redis/publication/published.ts';
import { subscribe } from '../../redis/subscription.ts';
import { EgressAgent } from '../egress/agent.ts';
import type { FrontEnvironment, SharedLimits } from '../environment/environment.ts';
import { Activity } from '../http/activity.ts';
import { setDocumentationSite } from '../http/error-response.ts';
import { createServer } from '../http/server.ts';
import { createInternalServer } from '../storage/service/service.ts';
import { createLog, type Logger, logRedisState } from '../telemetry/log.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { UsageMeter } from '../telemetry/usage.ts';
import { describeProgram, openTracer } from '../tracing/tracer.ts';
import { Pools } from '../upstream/pools.ts';
import { createFrontApp } from './app.ts';
import { openColdStarts } from './cold-starts.ts';
import { DemandWatch } from './demand/demand-watch.ts';
import { applySharedLimits, Directory } from './directory.ts';
import { openFrontStorage } from './front-storage.ts';
import { startHousekeeping } from './housekeeping/housekeeping.ts';
import { ReplicaPicker } from './replica-picker.ts';
import { canConnect, SilenceWatch } from './silence-watch.ts';
import { openWebhookDelivery } from './webhook-delivery.ts';

export interface Front {
  stop(): Promise<void>;
}

/** Listens when it resolves; Redis may be down. */
export async function startFront(environment: FrontEnvironment): Promise<Front> {
  const log = createLog(environment.logLevel, { role: 'front', replica: environment.podName });
  const metrics = createMetrics();
  const tracer = await openTracer(environment.tracing, {
    resource: describeProgram('berth-front', { pod: environment.podName }),
    log,
    onSpans: (outcome, count) => metrics.traceSpans.inc({ outcome }, count),
  });
  setDocumentationSite(environment.documentationURL);
  const settings: RedisSettings = {
    url: environment.redisURL,
    username: environment.redisUsername,
    password: environment.redisPassword,
    caFile: environment.redisCAFile,
    name: environment.podName,
    role: 'front',
  };
  const connection = connectRedis(settings);
  logRedisState(connection, log);
  const limits = resolveLimits(modelLimits.parse({}), 'LLM');
  const directory = openDirectory(connection, environment.limits);
  const coldStarts = openColdStarts({
    podName: environment.podName,
    redis: connection.redis,
    directory,
    limits: environment.holds,
    log,
  });
  const onPublication = () => {
    directory.expire();
    coldStarts.queues.wake();
  };
  const subscription = subscribe(settings, [channels.front], {
    onMessage: onPublication,
    onResume: onPublication,
  });
  // Once is enough: known entries are served while Redis is down.
  let hasSeenRedis = false;
  connection.onStateChange((state) => {
    hasSeenRedis ||= state === 'up';
  });

  const storage = await openFrontStorage({
    environment: environment.storage,
    redis: connection.redis,
    egress: environment.egress,
    host: environment.host ?? LOOPBACK,
  });
  const pools = new Pools({ onResend: () => metrics.resent.inc({ to: 'replica' }) });
  // Pods come and go with new addresses.
  const sweep = setInterval(() => pools.closeIdle(POOL_IDLE_MS), POOL_IDLE_MS);
  sweep.unref();
  const activity = new Activity();
  const { host, httpPort, adminPort, metricsPort, replicaPort } = environment;
  const silence = new SilenceWatch((address) => canConnect(address, replicaPort));
  const proxy = { pools, picker: new ReplicaPicker(), silence, replicaPort };
  const egress = new EgressAgent(environment.egress);
  const { redis } = connection;
  const usage = new UsageMeter({ redis, log, metrics });
  const demand = openDemandWatch(redis, log);
  metrics.exportDemand(() => demand.report());
  const app = createFrontApp({
    directory,
    coldStarts,
    demand,
    proxy,
    redis,
    storage: storage.services,
    egress,
    log,
    metrics,
    usage,
    tracer,
    peerToken: ({ namespace, name, adapter }) => {
      const own = peerToken(environment.storage.masterKey, namespace, adapter?.base ?? name);
      return adapter ? adapterToken(own, name) : own;
    },
  });
  const listener: RequestListener = (req, res) => {
    activity.track(res);
    app(req, res);
  };
  const server = createServer(listener, () => limits);
  const admin = createAdminServer({
    [ADMIN_PATHS.healthz]: () => OK,
    [ADMIN_PATHS.startup]: () => OK,
    [ADMIN_PATHS.readyz]: () => (hasSeenRedis ? OK : unavailable('Redis has not been seen yet')),
  });
  const internal = createInternalServer({
    masterKey: environment.storage.masterKey,
    urlSigner: storage.services.urlSigner,
    stores: storage.stores,
    readCredential: (namespace, id) => readCredential(connection.redis, namespace, { id }),
    egress,
    log,
  });
  const metricsServer = createAdminServer(serveMetrics(metrics));
  await Promise.all([
    listen(server, httpPort, host),
    listen(admin, adminPort, host),
    listen(internal, environment.internalPort, host),
    listen(metricsServer, metricsPort, host),
  ]);
  const housekeeping = startHousekeeping({
    ...{ connection, log, metrics },
    stores: storage.stores,
    storage: storage.services,
  });
  const webhooks = openWebhookDelivery({
    redis,
    settings,
    masterKey: environment.storage.masterKey,
    egress: environment.egress,
    mail: environment.mail,
    log,
    metrics,
    tracer,
  });
  log.info({ port: httpPort }, 'listening');

  return {
    stop: async () => {
      log.info('shutting down');
      activity.setClosing(true);
      coldStarts.close();
      demand.close();
      await closeServer(server, environment.drainTimeoutMs);
      await Promise.all(
        [admin, internal, metricsServer].map((each) => closeServer(each, ADMIN_CLOSE_TIMEOUT_MS)),
      );
      await Promise.all([housekeeping.close(), webhooks.close(), usage.close()]);
      clearInterval(sweep);
      await pools.destroy();
      await storage.close();
      await egress.close();
      await subscription.close();
      await connection.close();
      await tracer?.close();
      log.info('stopped');
    },
  };
}

const ADMIN_CLOSE_TIMEOUT_MS = 200;
const LOOPBACK = '127.0.0.1';
const POOL_IDLE_MS = 60_000;

/** Hosts, deployments and replicas as read from Redis. */
function openDirectory({ redis }: RedisConnection, shared?: SharedLimits): Directory {
  return new Directory({
    readHost: (host) => readHost(redis, host),
    readDeployment: async (namespace, name) => {
      const config = await readDeployment(redis, namespace, name);
      return config && shared ? applySharedLimits(config, shared) : config;
    },
    readReplicas: (namespace, name) => readReplicas(redis, namespace, name),
  });
}

/** Deployments of one workspace whose demand is exported. */
const MAX_WATCHED_DEPLOYMENTS = 1_000;

const openDemandWatch = (redis: RedisClient, log: Logger): DemandWatch =>
  new DemandWatch({
    listWorkspaces: () => readWorkspaces(redis),
    read: async (namespaces) => {
      const pods = await countPublishedPods(redis, namespaces, MAX_WATCHED_DEPLOYMENTS);
      return readDemand(redis, [...pods.keys()], (key) => pods.get(key) ?? 0);
    },
    onError: (error) => {
      if (!isRedisAway(error))
        log.warn({ err: error as Error }, 'the demand for deployments could not be read');
    },
  });
