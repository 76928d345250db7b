/** Replicas of one deployment, each with an engine and an address of its own, and a key that they take. */
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { hashApiKey } from '../../api/identity.ts';
import { publishApiKeys, publishDeployment } from '../../redis/publication/publication.ts';
import { findFreePort } from './child-program.ts';
import { API_KEY, type Engine, type ModelReplica, startEngine, startReplica } from './model-replica.ts';
import type { TestStack } from './test-stack.ts';

export interface Replicas {
  /** By address; one that was started again may take its place. */
  engines: Engine[];
  replicas: ModelReplica[];
  stop(): Promise<void>;
}

export async function startReplicas(
  stack: TestStack,
  config: GatewayConfig,
  addresses: string[],
  startEngineAt: (address: string) => Promise<Engine> = () => startEngine(),
): Promise<Replicas> {
  await publishDeployment(stack.redis, config);
  const key = { n: 'test', rpm: 100_000, tpd: 1_000_000_000, exp: 0, off: 0 as const };
  await publishApiKeys(stack.redis, config.namespace, new Map([[hashApiKey(API_KEY), key]]));
  const engines = await Promise.all(addresses.map(startEngineAt));
  const port = await findFreePort(addresses);
  const redisURL = stack.server.url;
  const replicas = await Promise.all(
    addresses.map((address, index) =>
      startReplica({ redisURL, engineURL: engines[index]!.url, config, address, port }),
    ),
  );
  const stop = async () => {
    await Promise.all([...replicas, ...engines].map((part) => part.stop('SIGKILL')));
  };
  return { engines, replicas, stop };
}
