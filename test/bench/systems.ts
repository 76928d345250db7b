/** The compared systems: Berth's sidecar, the floor, other routers and gateways, and the engine alone; each a command on a port. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildGatewayConfig, type GatewayConfig } from '../../api/gateway-config.ts';
import { GATEWAY_ENV, GATEWAY_NODE_FLAGS } from '../../api/gateway-environment.ts';
import { hashApiKey } from '../../api/identity.ts';
import { API_VERSION } from '../../api/kubernetes-types.ts';
import { modelDeployment } from '../../api/model-deployment.ts';
import { SIDECAR_SECRET_FILES } from '../../api/names.ts';
import type { RedisClient } from '../../redis/client.ts';
import { loadLibrary } from '../../redis/library.ts';
import {
  beginEpoch,
  completeEpoch,
  publishApiKeys,
  publishDeployment,
  publishWorkspace,
} from '../../redis/publication/publication.ts';
import { makeFolder } from './folders.ts';
import type { Command } from './pinned-process.ts';
import { ensurePortkey } from './portkey.ts';
import {
  buildSGLangRouter,
  buildSMG,
  buildTensorZero,
  buildVLLMRouter,
  describeTensorZero,
  readTensorZeroPort,
} from './rust-gateways.ts';

export const PORTS = {
  engine: 19_100,
  redis: 19_379,
  floor: 19_201,
  berth: 19_202,
  berthAdmin: 19_203,
  berthMetrics: 19_204,
  portkey: 19_205,
  mediaEngine: 19_101,
  receiver: 19_102,
  front: 19_206,
  frontAdmin: 19_207,
  frontMetrics: 19_208,
  frontInternal: 19_209,
  vllmRouter: 19_210,
  vllmRouterMetrics: 19_211,
  sglangRouter: 19_212,
  sglangRouterMetrics: 19_213,
  smg: 19_217,
  smgMetrics: 19_218,
  peer: 19_214,
  peerAdmin: 19_215,
  peerMetrics: 19_216,
};
export const REDIS_PASSWORDS = { operator: 'bench-operator', front: 'bench-front', console: 'bench-console' };
export const REDIS_URL = `redis://berth-operator:${REDIS_PASSWORDS.operator}@127.0.0.1:${PORTS.redis}`;
export const ENGINE_URL = `http://127.0.0.1:${PORTS.engine}`;
export const API_KEY = 'sk-bench-0123456789abcdef';
export const MODEL = 'mock';

export interface System {
  name: string;
  findPort(): number | Promise<number>;
  /** Path of chats, and the model's name there; the engine's own by default. */
  path?: string;
  model?: string;
  /** Absent: the engine alone. */
  buildCommand?: () => Command;
  /** Writes what it reads from Redis, in the place of all that is there; by default as this version does. */
  publish?: () => Promise<void>;
}

/** The systems in the order in which they are measured. Berth runs as compiled for the image. */
export function listSystems(): System[] {
  return [
    { name: 'direct', findPort: () => PORTS.engine },
    {
      name: 'floor',
      findPort: () => PORTS.floor,
      buildCommand: () => ({
        program: process.execPath,
        args: ['dist-bench/floor.js'],
        env: { PORT: String(PORTS.floor), ENGINE_URL },
      }),
    },
    {
      name: 'berth',
      findPort: () => PORTS.berth,
      buildCommand: () => buildSidecar(benchConfig(), ENGINE_URL),
    },
    {
      name: 'vllm-router',
      findPort: () => PORTS.vllmRouter,
      buildCommand: () =>
        buildVLLMRouter({
          port: PORTS.vllmRouter,
          metricsPort: PORTS.vllmRouterMetrics,
          engines: [ENGINE_URL],
          policy: 'round_robin',
        }),
    },
    {
      name: 'sglang-router',
      findPort: () => PORTS.sglangRouter,
      buildCommand: () =>
        buildSGLangRouter({
          port: PORTS.sglangRouter,
          metricsPort: PORTS.sglangRouterMetrics,
          engines: [ENGINE_URL],
          policy: 'round_robin',
        }),
    },
    {
      name: 'smg',
      findPort: () => PORTS.smg,
      buildCommand: () =>
        buildSMG({
          port: PORTS.smg,
          metricsPort: PORTS.smgMetrics,
          engines: [ENGINE_URL],
          policy: 'round_robin',
          flags: [`--api-key=${API_KEY}`, '--history-backend=none'],
        }),
    },
    {
      name: 'tensorzero',
      findPort: readTensorZeroPort,
      path: '/openai/v1/chat/completions',
      model: `tensorzero::model_name::${MODEL}`,
      buildCommand: () =>
        buildTensorZero(
          join(writeSecret({ 'tensorzero.toml': describeTensorZero(MODEL, ENGINE_URL) }), 'tensorzero.toml'),
        ),
    },
    {
      name: 'portkey',
      findPort: () => PORTS.portkey,
      buildCommand: () => ({
        program: process.execPath,
        args: [
          '--import',
          './test/bench/bind-loopback.mjs',
          ensurePortkey(),
          '--headless',
          `--port=${PORTS.portkey}`,
        ],
        env: { TRUSTED_CUSTOM_HOSTS: '127.0.0.1' },
      }),
    },
  ];
}

/** A chat model with prices. */
export const benchConfig = (): GatewayConfig =>
  buildGatewayConfig(
    modelDeployment.parse({
      apiVersion: API_VERSION,
      kind: 'ModelDeployment',
      metadata: { name: 'bench', namespace: 'bench' },
      spec: {
        kind: 'LLM',
        model: { id: MODEL },
        engine: { preset: 'custom', image: 'none' },
        pricing: { perMillionInputTokens: '0.15', perMillionOutputTokens: '0.6' },
      },
    }),
  );

/** A folder of files as a mounted Secret would hold them. */
export function writeSecret(files: Record<string, string>): string {
  const folder = makeFolder();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

/** A sidecar for any deployment; `files` and `env` are added to those of all. */
export function buildSidecar(
  config: GatewayConfig,
  engineURL: string,
  { files = {}, env = {} }: { files?: Record<string, string>; env?: Record<string, string> } = {},
): Command {
  return {
    program: process.execPath,
    args: [...GATEWAY_NODE_FLAGS, 'dist/gateway/main.js'],
    env: { ...buildSidecarEnvironment(config, engineURL, files), ...env },
  };
}

function buildSidecarEnvironment(
  config: GatewayConfig,
  engineURL: string,
  files: Record<string, string>,
): Record<string, string> {
  const folder = writeSecret({
    [SIDECAR_SECRET_FILES.config]: JSON.stringify(config),
    [SIDECAR_SECRET_FILES.peerToken]: 'bench-peer-token',
    ...files,
  });
  return {
    [GATEWAY_ENV.role]: 'sidecar',
    [GATEWAY_ENV.redisURL]: REDIS_URL,
    [GATEWAY_ENV.secretPath]: folder,
    [GATEWAY_ENV.engineURL]: engineURL,
    [GATEWAY_ENV.engineHealthPath]: '/health',
    [GATEWAY_ENV.drainToken]: 'bench-drain-token',
    [GATEWAY_ENV.spoolPath]: makeFolder(),
    [GATEWAY_ENV.podName]: 'bench-0',
    [GATEWAY_ENV.podIP]: '127.0.0.1',
    [GATEWAY_ENV.httpPort]: String(PORTS.berth),
    [GATEWAY_ENV.adminPort]: String(PORTS.berthAdmin),
    [GATEWAY_ENV.metricsPort]: String(PORTS.berthMetrics),
  };
}

/** A front that delivers to receivers on this machine. */
export const buildFront = (secretFolder: string): Command => ({
  program: process.execPath,
  args: [...GATEWAY_NODE_FLAGS, 'dist/gateway/main.js'],
  env: {
    [GATEWAY_ENV.role]: 'front',
    [GATEWAY_ENV.redisURL]: REDIS_URL,
    [GATEWAY_ENV.secretPath]: secretFolder,
    [GATEWAY_ENV.spoolPath]: makeFolder(),
    [GATEWAY_ENV.host]: '127.0.0.1',
    [GATEWAY_ENV.httpPort]: String(PORTS.front),
    [GATEWAY_ENV.adminPort]: String(PORTS.frontAdmin),
    [GATEWAY_ENV.metricsPort]: String(PORTS.frontMetrics),
    [GATEWAY_ENV.internalPort]: String(PORTS.frontInternal),
    [GATEWAY_ENV.egressAllow]: '127.0.0.0/8',
    [GATEWAY_ENV.egressPlainHTTP]: 'true',
  },
});

/** Publishes to Redis like the operator: a key with limits, prices, and credit that no load uses up. */
export async function publishBench(redis: RedisClient): Promise<void> {
  await publishDeployment(redis, benchConfig());
  const key = { n: 'bench', rpm: 1_000_000_000, tpd: 1_000_000_000_000, exp: 0, off: 0 as const };
  await publishApiKeys(redis, 'bench', new Map([[hashApiKey(API_KEY), key]]));
  await publishWorkspace(redis, 'bench', { creditMicros: 1_000_000_000_000_000 });
  await loadLibrary(redis);
  await beginEpoch(redis, 'bench');
  await completeEpoch(redis);
}
