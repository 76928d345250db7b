/** What is compared: the floor, Berth's sidecar and Portkey, each as a command on a port. */
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildGatewayConfig, type GatewayConfig } from '../../contract/gateway-config.ts';
import { GATEWAY_ENV, GATEWAY_NODE_FLAGS } from '../../contract/gateway-environment.ts';
import { hashApiKey } from '../../contract/identity.ts';
import { API_VERSION } from '../../contract/kubernetes-types.ts';
import { modelDeployment } from '../../contract/model-deployment.ts';
import { SIDECAR_SECRET_FILES } from '../../contract/names.ts';
import { connectRedis } from '../../redis/client.ts';
import { loadLibrary } from '../../redis/library.ts';
import { publishApiKeys, publishDeployment, publishEpoch } from '../../redis/publication.ts';
import type { Command } from './pinned-process.ts';
import { ensurePortkey } from './portkey.ts';

export const PORTS = {
  engine: 19_100,
  redis: 19_379,
  floor: 19_201,
  berth: 19_202,
  berthAdmin: 19_203,
  berthMetrics: 19_204,
  portkey: 19_205,
};
export const ENGINE_URL = `http://127.0.0.1:${PORTS.engine}`;
export const API_KEY = 'sk-bench-0123456789abcdef';
export const MODEL = 'mock';

export interface System {
  name: string;
  port: number;
  command: Command;
}

/** The systems in the order in which they are measured. Berth runs as compiled for the image. */
export function listSystems(): System[] {
  return [
    {
      name: 'floor',
      port: PORTS.floor,
      command: {
        program: process.execPath,
        args: ['dist-bench/floor.js'],
        env: { PORT: String(PORTS.floor), ENGINE_URL },
      },
    },
    {
      name: 'berth',
      port: PORTS.berth,
      command: {
        program: process.execPath,
        args: [...GATEWAY_NODE_FLAGS, 'dist/gateway/main.js'],
        env: berthEnvironment(),
      },
    },
    {
      name: 'portkey',
      port: PORTS.portkey,
      command: {
        program: process.execPath,
        args: [
          '--import',
          './test/bench/bind-loopback.mjs',
          ensurePortkey(),
          '--headless',
          `--port=${PORTS.portkey}`,
        ],
        env: { TRUSTED_CUSTOM_HOSTS: '127.0.0.1' },
      },
    },
  ];
}

const benchConfig = (): GatewayConfig =>
  buildGatewayConfig(
    modelDeployment.parse({
      apiVersion: API_VERSION,
      kind: 'ModelDeployment',
      metadata: { name: 'bench', namespace: 'bench' },
      spec: { kind: 'LLM', model: { id: MODEL }, engine: { preset: 'custom', image: 'none' } },
    }),
  );

function berthEnvironment(): Record<string, string> {
  const folder = join(mkdtempSync(join(tmpdir(), 'berth-bench-')), 'secret');
  mkdirSync(folder);
  writeFileSync(join(folder, SIDECAR_SECRET_FILES.config), JSON.stringify(benchConfig()));
  writeFileSync(join(folder, SIDECAR_SECRET_FILES.peerToken), 'bench-peer-token');
  return {
    [GATEWAY_ENV.role]: 'sidecar',
    [GATEWAY_ENV.redisURL]: `redis://127.0.0.1:${PORTS.redis}`,
    [GATEWAY_ENV.secretPath]: folder,
    [GATEWAY_ENV.engineURL]: ENGINE_URL,
    [GATEWAY_ENV.engineHealthPath]: '/health',
    [GATEWAY_ENV.drainToken]: 'bench-drain-token',
    [GATEWAY_ENV.podName]: 'bench-0',
    [GATEWAY_ENV.podIP]: '127.0.0.1',
    [GATEWAY_ENV.httpPort]: String(PORTS.berth),
    [GATEWAY_ENV.adminPort]: String(PORTS.berthAdmin),
    [GATEWAY_ENV.metricsPort]: String(PORTS.berthMetrics),
  };
}

/** Tells Redis what the operator would. */
export async function publishBench(): Promise<void> {
  const connection = connectRedis({
    url: `redis://127.0.0.1:${PORTS.redis}`,
    name: 'bench',
    role: 'operator',
  });
  await connection.untilUp(10_000);
  await publishDeployment(connection.redis, benchConfig());
  const key = { n: 'bench', rpm: 1_000_000_000, tpd: 1_000_000_000_000, exp: 0, off: 0 as const };
  await publishApiKeys(connection.redis, 'bench', new Map([[hashApiKey(API_KEY), key]]));
  await loadLibrary(connection.redis);
  await publishEpoch(connection.redis, 'bench');
  await connection.close();
}
