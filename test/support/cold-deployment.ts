/** A deployment that scales to zero, a front, and a replica that the test starts. */
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { GATEWAY_ENV } from '../../api/gateway-environment.ts';
import { peerToken } from '../../api/identity.ts';
import { channels } from '../../api/redis-keys.ts';
import { type DeploymentSample, readDemand } from '../../redis/demand/demand.ts';
import { publishDeployment, publishHost, publishReplicas } from '../../redis/publication/publication.ts';
import { type Subscription, subscribe } from '../../redis/subscription.ts';
import { findFreePort } from './child-program.ts';
import { type FrontProcess, MASTER_KEY, startFrontProcess } from './front-process.ts';
import { describeModel, type Engine, type ModelReplica, startEngine, startReplica } from './model-replica.ts';
import { pollUntil } from './poll.ts';
import { publishModel } from './replica-stack.ts';
import { TestStack } from './test-stack.ts';

export const COLD_HOST = 'chat--team.models.example.com';
const ADDRESS = '127.0.0.9';

export interface ColdDeployment {
  stack: TestStack;
  front: FrontProcess;
  replica: ModelReplica;
  engine: Engine;
  config: GatewayConfig;
  /** Messages of `channels.wake` so far. */
  woken: string[];
  /** Publishes it without replicas. */
  sleep(changes?: Partial<GatewayConfig>): Promise<void>;
  /** Publishes the replica, which is ready. */
  awaken(): Promise<void>;
  startFront(env?: Record<string, string>): Promise<FrontProcess>;
  readDemand(): Promise<DeploymentSample>;
  /** How many requests are held. */
  countHeld(): Promise<number>;
  stop(): Promise<void>;
}

export async function startColdDeployment(
  spec: Record<string, unknown> = {},
  engineEnv: Record<string, string> = {},
): Promise<ColdDeployment> {
  const config = describeModel({ scaling: { min: 0, max: 3 }, ...spec });
  const { namespace, name } = config;
  const stack = await TestStack.start({ isStrict: true });
  const { redis } = stack;
  await publishModel(redis, config);
  await publishHost(redis, COLD_HOST, { namespace, name });
  const engine = await startEngine(engineEnv);
  const port = await findFreePort([ADDRESS]);
  const replica: ModelReplica = await startReplica({
    redisURL: stack.server.url,
    engineURL: engine.url,
    config,
    address: ADDRESS,
    port,
    peerToken: peerToken(MASTER_KEY, namespace, name),
  });
  await pollUntil(async () => (await replica.admin('/readyz')).ok, 'ready');
  const fronts: FrontProcess[] = [];
  const startFront = async (env: Record<string, string> = {}) => {
    const pod = { [GATEWAY_ENV.podName]: `front-${fronts.length}` };
    const front = await startFrontProcess({
      redisURL: stack.server.url,
      replicaPort: port,
      env: { ...pod, ...env },
    });
    fronts.push(front);
    await pollUntil(async () => (await front.admin('/readyz')).ok, 'the front to be ready');
    return front;
  };
  const front = await startFront();
  const { woken, close } = await listenForWakes(stack.server.url);
  const read = async () => (await readDemand(redis, [`${namespace}/${name}`])).get(`${namespace}/${name}`)!;
  return {
    stack,
    front,
    replica,
    engine,
    config,
    woken,
    sleep: async (changes = {}) => {
      await publishReplicas(redis, namespace, name, []);

      await publishDeployment(redis, { ...config, ...changes });
      woken.splice(0);
    },
    awaken: async () => void (await publishReplicas(redis, namespace, name, [ADDRESS])),
    startFront,
    readDemand: read,
    countHeld: async () => (await read()).fronts.reduce((sum, { held }) => sum + held, 0),
    stop: async () => {
      await close();
      await Promise.all([replica, engine, ...fronts].map((part) => part.stop('SIGKILL')));
      await stack.stop();
    },
  };
}

/** The messages of `channels.wake` from now on. */
export async function listenForWakes(url: string): Promise<{ woken: string[]; close(): Promise<void> }> {
  const woken: string[] = [];
  const subscription = await new Promise<Subscription>((resolve) => {
    const opened = subscribe({ url, name: 'listener', role: 'operator' }, [channels.wake], {
      onMessage: (message) => woken.push(message),
      onResume: () => resolve(opened),
    });
  });
  return { woken, close: () => subscription.close() };
}
