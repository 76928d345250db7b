/** Berth's operators and front on a cluster of fake nodes, with a real Redis, for the benches of a fleet. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { V1Secret } from '@kubernetes/client-node';
import { GATEWAY_ENV } from '../../../api/gateway-environment.ts';
import { createKubeClient, type KubeClient } from '../../../kube/client.ts';
import { loadKubeConfig } from '../../../kube/connection.ts';
import type { Wire } from '../../../kube/object.ts';
import { RESOURCES } from '../../../kube/resource.ts';
import { connectRedis, type RedisConnection } from '../../../redis/client.ts';
import { type ChildProgram, findFreePort, startProgram } from '../../support/child-program.ts';
import { type ControlPlane, startControlPlane } from '../../support/control-plane.ts';
import { startFakeNodes } from '../../support/fake-nodes.ts';
import { type FrontProcess, MASTER_KEY, startFrontProcess } from '../../support/front-process.ts';
import { fetchByHost } from '../../support/host-fetch.ts';
import { pollUntil } from '../../support/poll.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { makeFolder } from '../folders.ts';
import { FRONT_SERVICE, installBerth, type ModelName, SYSTEM_NAMESPACE } from '../operator-state.ts';

const DOMAIN = 'bench.test';

export interface FleetOptions {
  gpus: number;
  /** From a pod's node to its readiness. */
  startMs: number;
}

export interface Operator {
  program: ChildProgram;
  metricsPort: number;
}

export interface Installation {
  controlPlane: ControlPlane;
  client: KubeClient;
  server: RedisServer;
  redis: RedisConnection;
  front: FrontProcess;
  startOperator(): Promise<Operator>;
  /** The first request of a user, who has the workspace's key. */
  ask(model: ModelName): Promise<Response>;
  readKey(namespace: string): Promise<string>;
  close(): Promise<void>;
}

export async function installFleet({ gpus, startMs }: FleetOptions): Promise<Installation> {
  const closing: (() => Promise<void>)[] = [];
  const close = async () => {
    for (const end of closing.splice(0).reverse()) await end().catch(() => {});
  };
  try {
    const server = await startRedis();
    closing.push(() => server.stop());
    const redis = connectRedis({ url: server.url, name: 'bench', role: 'operator' });
    closing.push(() => redis.close());
    const controlPlane = await startControlPlane();
    closing.push(() => controlPlane.close());
    const config = loadKubeConfig({ file: controlPlane.kubeconfig });
    const client = createKubeClient({ config, maxConnections: 16 });
    closing.push(() => client.close());
    await installBerth(client);
    const nodes = await startFakeNodes(controlPlane, client, {
      nodes: 1,
      allocatable: describeCapacity(gpus),
      startMs,
      controllers: ['horizontal-pod-autoscaler-controller'],
    });
    closing.push(() => nodes.close());
    const front = await startFrontProcess({
      redisURL: server.url,
      replicaPort: await findFreePort(),
      env: { [GATEWAY_ENV.podName]: 'front-1' },
    });
    closing.push(() => front.stop('SIGKILL'));
    const keys = new Map<string, Promise<string>>();
    const keyOf = (namespace: string) => getOrCreate(keys, namespace, () => readKey(client, namespace));
    const ask = async ({ namespace, name }: ModelName): Promise<Response> => {
      const key = await keyOf(namespace);
      return fetchByHost(`${front.origin}/v1/chat/completions`, `${name}--${namespace}.${DOMAIN}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: `bench/${name}`, messages: [{ role: 'user', content: 'Hello' }] }),
      });
    };
    let started = 0;
    const startOperator = async (): Promise<Operator> => {
      const operator = await runOperator(controlPlane, server.url, `operator-${++started}`);
      closing.push(() => operator.program.stop('SIGKILL'));
      return operator;
    };
    return {
      controlPlane,
      client,
      server,
      redis,
      front,
      startOperator,
      ask,
      readKey: keyOf,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function runOperator({ kubeconfig }: ControlPlane, redisURL: string, pod: string): Promise<Operator> {
  const folder = makeFolder();
  writeFileSync(join(folder, 'master-key'), MASTER_KEY);
  const metricsPort = await findFreePort();
  const program = startProgram('operator/main.ts', {
    NODE_ENV: 'production',
    KUBECONFIG: kubeconfig,
    OPERATOR_POD_NAME: pod,
    OPERATOR_NAMESPACE: SYSTEM_NAMESPACE,
    OPERATOR_DOMAIN: DOMAIN,
    OPERATOR_INGRESS_CLASS: 'bench',
    OPERATOR_FRONT_SERVICE: FRONT_SERVICE,
    OPERATOR_GATEWAY_IMAGE: 'berth/berth:bench',
    OPERATOR_SIMULATOR_IMAGE: 'berth/simulator:bench',
    OPERATOR_REDIS_URL: redisURL,
    OPERATOR_SECRET_PATH: folder,
    OPERATOR_PORT: String(metricsPort),
    OPERATOR_LOG_LEVEL: 'warn',
  });
  return { program, metricsPort };
}

/** Capacity of one node that takes all pods. */
const describeCapacity = (gpus: number): Record<string, string> => ({
  cpu: '10k',
  memory: '100Ti',
  pods: '2000',
  'nvidia.com/gpu': String(gpus),
});

/** Reads the workspace's APIKey, which the operator makes. */
async function readKey(client: KubeClient, namespace: string): Promise<string> {
  let key = '';
  await pollUntil(async () => {
    const secret = await client.find<Wire<V1Secret>>(RESOURCES.Secret, { namespace, name: 'key-api-key' });
    key = Buffer.from(secret?.data?.['api-key'] ?? '', 'base64').toString();
    return key !== '';
  }, `the key of ${namespace}`);
  return key;
}

function getOrCreate<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
