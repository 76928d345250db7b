/** Starts the operator from its environment; ends on SIGTERM, and at once when its lease is lost. */
import { once } from 'node:events';
import { exitAfterFailedStart, exitOnFatalErrors } from '../kit/fatal-error.ts';
import { createKubeClient } from '../kube/client.ts';
import { loadKubeConfig } from '../kube/connection.ts';
import { connectRedis } from '../redis/client.ts';
import { readEnvironment } from './environment.ts';
import { createHealthServer } from './health.ts';
import { createLog } from './log.ts';
import { createMetrics } from './metrics.ts';
import { createProgram } from './program.ts';
import { watchAuthority } from './redis-authority.ts';

exitOnFatalErrors('operator');

/** Within the pod's grace period of 30 s. */
const STOP_MS = 20_000;

async function main(): Promise<void> {
  const { settings, process: own } = readEnvironment();
  const log = createLog(own.logLevel);
  const metrics = createMetrics();
  const config = loadKubeConfig({ file: own.kubeconfig });
  const userAgent = `berth-operator/${settings.version}`;
  const client = createKubeClient({ config, userAgent, onRequest: metrics.onRequest });
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
  const authority = watchAuthority(settings.readRedisCA, () => {
    log.info({}, "another authority for Redis' certificate: every sidecar's Secret is written anew");
    program.resync();
  });
  const program = createProgram({
    client,
    leaseClient,
    redis,
    settings: { ...settings, readRedisCA: authority.text },
    podName: own.podName,
    lease: { name: own.leaseName },
    // Another may lead already: nothing of this process may write one more time.
    onLost: () => process.exit(1),
    metrics,
    log,
  });
  const health = createHealthServer({ ailment: program.ailment, isReady: program.isReady, metrics });
  health.listen(own.port);
  await once(health, 'listening');

  const stop = async (signal: NodeJS.Signals) => {
    log.info({ signal }, 'stopping');
    setTimeout(() => process.exit(1), STOP_MS).unref();
    authority.stop();
    await program.stop();
    health.close();
    health.closeAllConnections();
    await Promise.all([redis.close(), client.close(), leaseClient.close()]);
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);

  log.info({ version: settings.version, namespace: settings.namespace, port: own.port }, 'operator starts');
  await program.start();
  if (program.isLeading()) log.info({}, 'leading');
}

main().catch((error: unknown) => exitAfterFailedStart('operator', error));
