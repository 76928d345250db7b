/** The parts of `make run`, started in dependency order, and stopped in reverse. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { startApiServer } from '../kube/memory/api-server.ts';
import { startGarbageCollector } from '../kube/memory/garbage-collector.ts';
import { MemoryApi } from '../kube/memory/memory-api.ts';
import { prepareRedis } from '../machine/redis-files.ts';
import { ensureValkey } from '../machine/valkey.ts';
import { connectRedis } from '../redis/client.ts';
import type { Closers } from './closers.ts';
import { listDeployments } from './local-endpoints.ts';
import { describeInstallation, startFront } from './local-front.ts';
import { startDeploymentController } from './local-node/deployment-controller.ts';
import { EndpointPorts } from './local-node/endpoint-ports.ts';
import { LocalNode } from './local-node/local-node.ts';
import { applyLocalObjects, describeLocalKey } from './local-objects.ts';
import {
  deriveLocalKey,
  deriveRedisPasswords,
  LOOPBACK,
  type LocalPorts,
  localRedisURL,
} from './local-plan.ts';
import { readLocalTypes, validateObject, warnOfObject } from './local-resources.ts';
import type { ManifestObject } from './manifests.ts';
import { keepObjects } from './object-file.ts';
import { type Child, readLogTail, startChild, stopChild, waitForURL } from './processes/child-process.ts';

export interface LocalStackOptions {
  ports: LocalPorts;
  manifests: readonly ManifestObject[];
  masterKey: string;
  token: string;
  /** The state folder. */
  folder: string;
  /** Receives each part's stop function as soon as it is started. */
  closers: Closers;
}

export interface LocalStack {
  api: MemoryApi;
  node: LocalNode;
  endpoints: EndpointPorts;
  /** Children of this process, and theirs. */
  children: readonly Child[];
}

const REDIS_START_MS = 15_000;
const OBJECTS_FILE = 'objects.json';
const KUBECONFIG_FILE = 'kubeconfig';

/** Everything runs when it resolves; the objects' status shows whether models serve. */
export async function startLocalStack({
  ports,
  manifests,
  masterKey,
  token,
  folder,
  closers,
}: LocalStackOptions): Promise<LocalStack> {
  const children: Child[] = [];
  const logFolder = join(folder, 'logs');
  mkdirSync(logFolder, { recursive: true });
  const add = (child: Child) => {
    children.push(child);
    closers.add(() => stopChild(child));
    return child;
  };
  const redis = add(startLocalRedis(ports.redis, join(folder, 'redis'), masterKey));
  const api = new MemoryApi({ types: readLocalTypes(), validate: validateObject, warn: warnOfObject });
  const node = new LocalNode({ api, folder, logFolder, basePort: ports.front });
  closers.add(() => node.close());
  const front = add(startFront(ports, folder, masterKey));
  // The slowest to load, while the others start.
  const loading = import('./local-operator.ts');
  const endpoints = new EndpointPorts({
    api,
    node,
    host: LOOPBACK,
    frontPort: ports.front,
    firstPort: ports.firstEndpoint,
    count: ports.endpoints,
    onError: (error) => console.error(`an endpoint's port: ${error.message}`),
  });
  closers.add(() => endpoints.close());
  closers.add(startGarbageCollector(api));
  closers.add(startDeploymentController(api, (error) => console.error(error.message)));
  closers.add(keepObjects(api, join(folder, OBJECTS_FILE)));
  describeInstallation(api);
  closers.add(listenForModels(api, endpoints, manifests));
  applyLocalObjects(api, addLocalKeys(manifests, masterKey));

  const server = await startApiServer({
    api,
    token,
    user: 'make-run',
    host: LOOPBACK,
    port: ports.api,
    readLogs: node.readLogs,
    onError: (error) => console.error(error),
  });
  closers.add(() => server.close());
  const kubeconfig = join(folder, KUBECONFIG_FILE);
  writeFileSync(kubeconfig, formatKubeconfig(`${server.url}/${token}`), { mode: 0o600 });

  const url = localRedisURL(ports.redis, masterKey, 'operator');
  const connection = connectRedis({ url, name: 'operator', role: 'operator' });
  closers.add(() => connection.close());
  await connection.untilUp(REDIS_START_MS).catch((error: Error) => {
    throw new Error(`${error.message}; last log lines:\n${readLogTail(redis)}`);
  });
  await waitForURL(front, `http://${LOOPBACK}:${ports.admin}/readyz`);
  const { startLocalOperator } = await loading;
  const operator = startLocalOperator({
    ports,
    masterKey,
    kubeconfig,
    redis: connection,
    logFolder,
    // One without a port is reached through the front, by host name.
    endpointURL: (deployment) => `http://${LOOPBACK}:${endpoints.portOf(deployment) ?? ports.front}/v1`,
  });
  closers.add(() => operator.stop());
  return { api, node, endpoints, children };
}

/** The files' own deployments get the first ports, in the files' order; others get the rest. */
function listenForModels(
  api: MemoryApi,
  endpoints: EndpointPorts,
  manifests: readonly ManifestObject[],
): () => void {
  for (const { object } of manifests)
    if (object.kind === 'ModelDeployment')
      endpoints.reserve({ namespace: object.metadata.namespace ?? 'default', name: object.metadata.name });
  for (const { metadata } of listDeployments(api)) endpoints.open(metadata);
  return api.store.listen(({ key, type, object: { metadata } }) => {
    if (key !== 'modeldeployments.berth.dev' || type === 'MODIFIED') return;
    if (type === 'ADDED') return endpoints.open({ namespace: metadata.namespace!, name: metadata.name });
    endpoints.free({ namespace: metadata.namespace!, name: metadata.name });
    // One may have waited for it.
    for (const deployment of listDeployments(api)) endpoints.open(deployment.metadata);
  });
}

/** One for each namespace that has deployments in the files. */
function addLocalKeys(manifests: readonly ManifestObject[], masterKey: string): ManifestObject[] {
  const namespaces = manifests
    .filter(({ object: { kind } }) => kind === 'ModelDeployment')
    .map(({ object }) => object.metadata.namespace ?? 'default');
  const keys = [...new Set(['default', ...namespaces])].map((namespace) =>
    describeLocalKey(manifests, namespace, deriveLocalKey(masterKey, namespace)),
  );
  return [...manifests, ...keys];
}

/** kubectl sends no token over plain HTTP: it is in the path. Node's client takes plain HTTP only where TLS is not verified. */
const formatKubeconfig = (server: string): string =>
  JSON.stringify(
    {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'make-run', cluster: { server, 'insecure-skip-tls-verify': true } }],
      users: [{ name: 'make-run', user: {} }],
      contexts: [
        { name: 'make-run', context: { cluster: 'make-run', user: 'make-run', namespace: 'default' } },
      ],
      'current-context': 'make-run',
    },
    null,
    2,
  );

/** The Redis of `make run`: a real server on loopback, as the chart configures it, its data in .berth/redis. */
export function startLocalRedis(port: number, folder: string, masterKey: string): Child {
  return startChild({
    name: 'redis',
    command: ensureValkey(),
    args: prepareRedis({ port, folder: resolve(folder), passwords: deriveRedisPasswords(masterKey) }),
    env: {},
    logPath: `${folder}/../logs/redis.log`,
  });
}
