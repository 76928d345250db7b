/** The gateway beside an engine in a model's pod. */

import type { Server } from 'node:http';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { parseGatewayConfig } from '../../api/gateway-config-text.ts';
import { ENGINE_METRICS_PATH } from '../../api/gateway-environment.ts';
import { SIDECAR_SECRET_FILES } from '../../api/names.ts';
import { channels } from '../../api/redis-keys.ts';
import { createAdminServer, serveMetrics } from '../../kit/admin-server.ts';
import { EnvironmentError } from '../../kit/environment.ts';
import { closeServer, listen } from '../../kit/http-server.ts';
import { connectRedis } from '../../redis/client.ts';
import { decodeChange } from '../../redis/publication/changes.ts';
import { subscribe } from '../../redis/subscription.ts';
import { watchMemoryMark } from '../engine/memory-mark.ts';
import type { SidecarEnvironment } from '../environment/environment.ts';
import { createLog, logRedisState } from '../telemetry/log.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { describeProgram, openTracer } from '../tracing/tracer.ts';
import { buildSidecarRoutes } from './admin-routes.ts';
import { createEngineMetrics } from './engine-metrics.ts';
import { type ModelEndpoint, startModelEndpoint } from './model-endpoint.ts';
import { openSidecarStorage } from './sidecar-storage.ts';
import { keepWeightsLease } from './weights-lease.ts';

export interface Sidecar {
  endpoint: ModelEndpoint;
  stop(): Promise<void>;
}

/** Listens when it resolves; Redis and the engine may be down. Throws EnvironmentError. */
export async function startSidecar(environment: SidecarEnvironment): Promise<Sidecar> {
  const initialConfig = parseConfig(environment.configText);
  const { namespace, name } = initialConfig;
  const bindings = { role: 'sidecar', deployment: `${namespace}/${name}`, replica: environment.podName };
  const log = createLog(environment.logLevel, bindings, environment.writeLog);
  const metrics = createMetrics({ namespace, deployment: name, pod: environment.podName });
  const tracer = await openTracer(environment.tracing, {
    resource: describeProgram('berth-gateway', { pod: environment.podName, namespace, deployment: name }),
    log,
    onSpans: (outcome, count) => metrics.traceSpans.inc({ outcome }, count),
  });
  const connection = connectRedis({
    url: environment.redisURL,
    username: environment.redisUsername,
    password: environment.redisPassword,
    caFile: environment.redisCAFile,
    name: environment.podName,
    role: 'sidecar',
  });
  logRedisState(connection, log);

  const { podName, podIP, host, httpPort, engineURL, engineMetricsPath } = environment;
  const storage = await openSidecarStorage(environment.storage, namespace, environment.egress);
  const endpoint = await startModelEndpoint({
    initialConfig,
    connection,
    engine: {
      url: engineURL,
      healthPath: environment.engineHealthPath,
      metricsPath: engineMetricsPath,
      ranOutOfMemory: environment.memoryMark === null ? null : watchMemoryMark(environment.memoryMark),
    },
    tokens: { peer: environment.peerToken, storage: environment.storage.token },
    self: { pod: podName, address: podIP, port: httpPort },
    host,
    drainTimeoutMs: environment.drainTimeoutMs,
    egress: environment.egress,
    storage: storage.services,
    telemetry: { log, metrics, tracer },
  });
  const { live, drain, engine } = endpoint;
  const jobs = channels.jobs(namespace, name);
  const subscription = subscribe(connection, [channels.workspace(namespace), jobs], {
    onMessage: (message, channel) => {
      if (channel === jobs) return endpoint.wakeWorker();
      const change = decodeChange(message);
      if (change?.what === 'deployment' && change.name === name) void live.refresh();
      if (change?.what === 'apikeys' || change?.what === 'workspace') endpoint.refreshLimits();
    },
    onResume: () => {
      void live.refresh();
      endpoint.refreshLimits();
      endpoint.wakeWorker();
    },
  });

  const admin = createAdminServer(
    buildSidecarRoutes({
      health: engine.health,
      isReady: endpoint.isReady,
      drain,
      drainToken: environment.drainToken,
      onWrongToken: () => {
        log.warn('drain requested with a wrong token');
        metrics.refusedDrains.inc();
      },
    }),
  );
  const metricsServer = createAdminServer({
    ...serveMetrics(metrics),
    ...(engineMetricsPath !== null && {
      [ENGINE_METRICS_PATH]: createEngineMetrics({
        pool: engine.unwatchedPool(),
        path: engineMetricsPath,
        labels: { namespace, deployment: name, pod: podName },
        log,
      }),
    }),
  });
  await Promise.all([
    listen(admin, environment.adminPort, host),
    listen(metricsServer, environment.metricsPort, host),
  ]);
  const releaseWeights = keepWeightsLease({ folder: environment.weightsLease, podName, log });
  log.info({ port: httpPort }, 'listening');

  return {
    endpoint,
    stop: async () => {
      log.info('shutting down');
      await endpoint.stop();
      releaseWeights();
      await storage.close();
      await closeAll([admin, metricsServer]);
      await subscription.close();
      await connection.close();
      await tracer?.close();
      log.info('stopped');
    },
  };
}

const ADMIN_CLOSE_TIMEOUT_MS = 200;

const closeAll = (servers: Server[]) =>
  Promise.all(servers.map((server) => closeServer(server, ADMIN_CLOSE_TIMEOUT_MS)));

function parseConfig(text: string): GatewayConfig {
  try {
    return parseGatewayConfig(text);
  } catch (error) {
    throw new EnvironmentError(`${SIDECAR_SECRET_FILES.config} of the Secret: ${(error as Error).message}`);
  }
}
