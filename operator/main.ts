/** The operator's program: it shuts down on SIGTERM, and exits at once when its lease is lost. */
import { type AdminRoutes, createAdminServer, OK, serveMetrics, unavailable } from '../kit/admin-server.ts';
import { closeServer, listen } from '../kit/http-server.ts';
import { openLog } from '../kit/log.ts';
import { type RunningProgram, runProgram } from '../kit/program.ts';
import { createKubeClient } from '../kube/client.ts';
import { loadKubeConfig } from '../kube/connection.ts';
import { connectRedis } from '../redis/client.ts';
import { readEnvironment } from './environment.ts';
import { auditWrites } from './framework/audited-client.ts';
import { createMetrics } from './metrics.ts';
import { createProgram } from './program.ts';
import { watchRedisCA } from './redis-ca.ts';

/** Within the pod's grace period of 30 s. */
const STOP_TIMEOUT_MS = 20_000;
const REQUEST_TIMEOUT_MS = 10_000;

async function startOperator(): Promise<RunningProgram> {
  const { settings, process: own } = readEnvironment();
  const log = openLog({ level: own.logLevel, base: { program: 'operator' } });
  const metrics = createMetrics();
  const config = loadKubeConfig({ file: own.kubeconfig });
  const userAgent = `berth-operator/${settings.version}`;
  const client = auditWrites(createKubeClient({ config, userAgent, onRequest: metrics.onRequest }), log);
  const leaseClient = createKubeClient({
    config,
    userAgent,
    maxConnections: 1,
    onRequest: metrics.onRequest,
  });
  const redis = connectRedis({
    url: settings.redisURL,
    username: settings.redisUsername,
    password: settings.redisPassword,
    caFile: settings.redisCAFile,
    name: own.podName,
    role: 'operator',
  });
  const authority = watchRedisCA(settings.readRedisCA, () => {
    log.info({}, "Redis CA changed, updating every sidecar's Secret");
    program.resync();
  });
  const program = createProgram({
    client,
    leaseClient,
    redis,
    settings: { ...settings, readRedisCA: authority.text },
    podName: own.podName,
    lease: { name: own.leaseName },
    // Another may already lead: this process must not write again.
    onLost: () => process.exit(1),
    metrics,
    log,
  });
  const server = createAdminServer(
    {
      ...buildHealthRoutes({ healthError: program.healthError, isReady: program.isReady }),
      ...serveMetrics(metrics),
    },
    { requestTimeoutMs: REQUEST_TIMEOUT_MS },
  );
  await listen(server, own.port);

  log.info({ version: settings.version, namespace: settings.namespace, port: own.port }, 'operator started');
  // A replica that does not lead waits here for its turn.
  void program.start().then(() => {
    if (program.isLeading()) log.info({}, 'leading');
  });
  return {
    stop: async () => {
      log.info({}, 'shutting down');
      authority.stop();
      await program.stop();
      await closeServer(server, 0);
      await Promise.all([redis.close(), client.close(), leaseClient.close()]);
    },
  };
}

interface HealthSources {
  /** Why the process should be restarted; undefined while healthy. */
  healthError: () => string | undefined;
  /** Whether its view of the cluster is complete. */
  isReady: () => boolean;
}

/** Probe responses on the operator's port, beside its metrics. */
const buildHealthRoutes = ({ healthError, isReady }: HealthSources): AdminRoutes => ({
  '/healthz': () => {
    const reason = healthError();
    return reason === undefined ? OK : { status: 500, body: reason };
  },
  '/readyz': () => (isReady() ? OK : unavailable('caches are not synced yet')),
});

runProgram('operator', startOperator, { stopTimeoutMs: STOP_TIMEOUT_MS });
