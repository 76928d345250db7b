/** The operator of `make run`: the same as in a cluster, against the memory API server (decision 0138). */
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { createAdminServer, serveMetrics } from '../kit/admin-server.ts';
import { closeServer, listen } from '../kit/http-server.ts';
import { openLog } from '../kit/log.ts';
import { createKubeClient } from '../kube/client.ts';
import { loadKubeConfig } from '../kube/connection.ts';
import { parseSettings } from '../operator/environment.ts';
import { createMetrics } from '../operator/metrics.ts';
import { createProgram } from '../operator/program.ts';
import type { RedisConnection } from '../redis/client.ts';
import { FRONT_SERVICE, SYSTEM_NAMESPACE } from './local-front.ts';
import { LOCAL_IMAGE } from './local-node/engine-programs.ts';
import { deriveRedisPasswords, LOCAL_EGRESS, LOOPBACK, type LocalPorts } from './local-plan.ts';

export interface LocalOperatorOptions {
  ports: LocalPorts;
  masterKey: string;
  kubeconfig: string;
  redis: RedisConnection;
  logFolder: string;
  /** Base URL of a deployment. */
  endpointURL: (deployment: { namespace: string; name: string }) => string;
}

export interface LocalOperator {
  stop(): Promise<void>;
}

const POD_NAME = 'make-run';
/** It is the only one: it must not lose the lease while the machine sleeps for hours. */
const LEASE = {
  name: 'berth-operator',
  durationMs: 86_400_000,
  renewDeadlineMs: 43_200_000,
  retryMs: 10_000,
};

/** Returns at once; it reconciles as soon as its caches are filled. */
export function startLocalOperator(options: LocalOperatorOptions): LocalOperator {
  const { ports, masterKey, kubeconfig, redis, logFolder, endpointURL } = options;
  const file = createWriteStream(join(logFolder, 'operator.log'), { flags: 'w', mode: 0o600 });
  const log = openLog({
    level: 'info',
    base: { program: 'operator' },
    write: (line) => void file.write(line),
  });
  const config = loadKubeConfig({ file: kubeconfig });
  const metrics = createMetrics();
  const calls = { config, userAgent: 'berth-operator', onRequest: metrics.onRequest };
  const client = createKubeClient(calls);
  const leaseClient = createKubeClient({ ...calls, maxConnections: 1 });
  const env = {
    OPERATOR_NAMESPACE: SYSTEM_NAMESPACE,
    OPERATOR_DOMAIN: 'localhost',
    OPERATOR_URL_PORT: String(ports.front),
    OPERATOR_FRONT_SERVICE: FRONT_SERVICE,
    OPERATOR_STORAGE_URL: `http://${LOOPBACK}:${ports.internal}`,
    OPERATOR_GATEWAY_IMAGE: LOCAL_IMAGE,
    OPERATOR_SIMULATOR_IMAGE: LOCAL_IMAGE,
    OPERATOR_REDIS_URL: `redis://${LOOPBACK}:${ports.redis}`,
    OPERATOR_EGRESS_ALLOW: LOCAL_EGRESS.allow.join(','),
    OPERATOR_DOCUMENTATION_URL: `http://${LOOPBACK}:${ports.console}/docs`,
    OPERATOR_EGRESS_PLAIN_HTTP: String(LOCAL_EGRESS.plainHTTP),
  };
  const secrets = {
    masterKey,
    redisUsername: 'berth-operator',
    redisPassword: deriveRedisPasswords(masterKey).operator,
    redisCAFile: '',
    readRedisCA: () => undefined,
  };
  const program = createProgram({
    client,
    leaseClient,
    redis,
    settings: { ...parseSettings(env, secrets), endpointURL },
    podName: POD_NAME,
    lease: LEASE,
    onLost: (reason) => log.error({ reason }, 'lease lost'),
    metrics,
    log,
  });
  const server = createAdminServer(serveMetrics(metrics));
  const listening = listen(server, ports.operatorMetrics, LOOPBACK).catch((error: Error) =>
    log.error({ err: error }, 'no metrics'),
  );
  const started = program.start().catch((error: Error) => log.error({ err: error }, 'operator failed'));
  return {
    stop: async () => {
      await program.stop();
      await Promise.all([started, listening]);
      await closeServer(server, 0);
      await Promise.all([client.close(), leaseClient.close()]);
      file.end();
    },
  };
}
