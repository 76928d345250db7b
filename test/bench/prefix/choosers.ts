/** Who chooses the replica of a request: Berth's sidecars, one per engine; a router in front of all; or the client. */
import { buildGatewayConfig, type GatewayConfig } from '../../../api/gateway-config.ts';
import { GATEWAY_ENV } from '../../../api/gateway-environment.ts';
import { API_VERSION } from '../../../api/kubernetes-types.ts';
import { modelDeployment } from '../../../api/model-deployment.ts';
import type { RouteBalance } from '../../../api/model-route.ts';
import type { RedisClient } from '../../../redis/client.ts';
import { publishDeployment } from '../../../redis/publication/publication.ts';
import { readHeartbeats } from '../../support/heartbeats.ts';
import { pollUntil } from '../../support/poll.ts';
import { type Command, SYSTEM_CORE, startPinned, stopPinned } from '../pinned-process.ts';
import { buildSGLangRouter, buildVLLMRouter, type RouterOptions } from '../rust-gateways.ts';
import { buildSidecar, MODEL, PORTS } from '../systems.ts';
import { ENGINE_PORTS, ENGINE_URLS } from './engines.ts';
import { askBriefly } from './replay.ts';

export interface Chooser {
  name: string;
  start(redis: RedisClient): Promise<Running>;
}

export interface Running {
  /** Where requests are sent, in turn. */
  origins: readonly string[];
  stop(): Promise<void>;
}

/** Three per sidecar, after the engine's. */
const SIDECAR_PORTS = ENGINE_PORTS.map((_, index) => ENGINE_PORTS.at(-1)! + 1 + 3 * index);
/** All ports besides the bench's own. */
export const PREFIX_PORTS = [...ENGINE_PORTS, ...SIDECAR_PORTS.flatMap((port) => [port, port + 1, port + 2])];

/** Far below its default of 64, which four replicas with forty requests never reach. */
const TUNED = ['--balance-abs-threshold=3', '--balance-rel-threshold=1.2'];

export const listChoosers = (): Chooser[] => [
  { name: 'berth', start: (redis) => startSidecars(redis, 'Prefix') },
  { name: 'berth, LeastLoaded', start: (redis) => startSidecars(redis, 'LeastLoaded') },
  { name: 'round robin', start: async () => ({ origins: ENGINE_URLS, stop: async () => {} }) },
  {
    name: 'vllm-router',
    start: () =>
      startRouter(PORTS.vllmRouter, buildVLLMRouter(routeBy(PORTS.vllmRouter, PORTS.vllmRouterMetrics))),
  },
  {
    name: 'vllm-router, tuned',
    start: () =>
      startRouter(
        PORTS.vllmRouter,
        buildVLLMRouter({ ...routeBy(PORTS.vllmRouter, PORTS.vllmRouterMetrics), flags: TUNED }),
      ),
  },
  {
    name: 'sglang-router',
    start: () =>
      startRouter(
        PORTS.sglangRouter,
        buildSGLangRouter(routeBy(PORTS.sglangRouter, PORTS.sglangRouterMetrics)),
      ),
  },
];

const routeBy = (port: number, metricsPort: number): RouterOptions => ({
  port,
  metricsPort,
  engines: ENGINE_URLS,
  policy: 'cache_aware',
});

async function startRouter(port: number, command: Command): Promise<Running> {
  const router = startPinned(SYSTEM_CORE, command, '/dev/null');
  const origin = `http://127.0.0.1:${port}`;
  await pollUntil(() => askBriefly(origin), `an answer on port ${port}`);
  return { origins: [origin], stop: () => stopPinned(router) };
}

async function startSidecars(redis: RedisClient, balance: RouteBalance): Promise<Running> {
  const config = describeDeployment(balance);
  await publishDeployment(redis, config);
  const sidecars = ENGINE_URLS.map((url, index) =>
    startPinned(SYSTEM_CORE, buildSidecarAt(config, url, index), '/dev/null'),
  );
  const origins = SIDECAR_PORTS.map((port) => `http://127.0.0.1:${port}`);
  for (const origin of origins) await pollUntil(() => askBriefly(origin), `an answer of ${origin}`);
  await untilAcquainted(redis, config, origins);
  return { origins, stop: async () => void (await Promise.all(sidecars.map(stopPinned))) };
}

const describeDeployment = (balance: RouteBalance): GatewayConfig =>
  buildGatewayConfig(
    modelDeployment.parse({
      apiVersion: API_VERSION,
      kind: 'ModelDeployment',
      metadata: { name: balance.toLowerCase(), namespace: 'bench' },
      spec: {
        kind: 'LLM',
        model: { id: MODEL },
        engine: { preset: 'custom', image: 'none' },
        route: { balance },
      },
    }),
  );

function buildSidecarAt(config: GatewayConfig, engineURL: string, index: number): Command {
  const port = SIDECAR_PORTS[index]!;
  return buildSidecar(config, engineURL, {
    env: {
      [GATEWAY_ENV.podName]: `bench-${index}`,
      [GATEWAY_ENV.host]: '127.0.0.1',
      [GATEWAY_ENV.httpPort]: String(port),
      [GATEWAY_ENV.adminPort]: String(port + 1),
      [GATEWAY_ENV.metricsPort]: String(port + 2),
    },
  });
}

/** All are ready, and have sent a heartbeat since, by which they read the others. */
async function untilAcquainted(
  redis: RedisClient,
  { namespace, name }: GatewayConfig,
  origins: readonly string[],
): Promise<void> {
  const read = () => readHeartbeats(redis, namespace, name);
  const isThere = async () => (await read()).filter(({ ready }) => ready).length === origins.length;
  await pollUntil(isThere, 'all sidecars to be ready');
  const last = Math.max(...(await read()).map(({ at }) => at));
  // A request changes the state, which a heartbeat reports at once.
  await pollUntil(async () => {
    await Promise.all(origins.map(askBriefly));
    return (await read()).every(({ at }) => at > last);
  }, 'a heartbeat of each sidecar');
}
