/** Describes what the cluster of `make cluster` serves, for `.berth/endpoints.json`. */
import { setTimeout as sleep } from 'node:timers/promises';
import { buildGatewayConfig } from '../api/gateway-config.ts';
import type { ModelDeployment } from '../api/model-deployment.ts';
import { LABELS, SIGNING_SECRET_FIELD, SIGNING_SECRET_NAME } from '../api/names.ts';
import type { StorageCredential } from '../api/storage-credential.ts';
import type { Cluster } from '../cluster/layout.ts';
import { consoleURL, createMemberToken } from './cluster-console.ts';
import type { WorkspaceKeys } from './cluster-keys.ts';
import { BUCKET, publicURL, readStorageKeys, readVerdict } from './cluster-storage.ts';
import type { EndpointEntry, EndpointsFile } from './endpoints-file.ts';
import { runKubectl } from './kubectl.ts';
import { describeMedia } from './media-facts.ts';
import { RELEASE, RELEASE_NAMESPACE, WORKSPACES } from './release.ts';

const SECRET_TIMEOUT_MS = 60_000;
const POLL_MS = 500;
const CONTROL_PORT_VARIABLE = 'SIMULATOR_CONTROL_PORT';

interface Pod {
  metadata: { labels?: Record<string, string>; namespace: string; deletionTimestamp?: string };
  status: { podIP?: string; conditions?: { type: string; status: string }[] };
}

export interface ClusterContents {
  models: ModelDeployment[];
  keys: WorkspaceKeys;
  credentials: StorageCredential[];
}

export async function describeCluster(
  cluster: Cluster,
  { models, keys, credentials }: ClusterContents,
): Promise<EndpointsFile> {
  const pods: Pod[] = JSON.parse(
    await runKubectl(cluster, ['get', 'pods', '-A', '-l', LABELS.deployment, '-o', 'json']),
  ).items;
  const entriesOf = (namespace: string) =>
    models
      .filter(({ metadata }) => metadata.namespace === namespace)
      .map((model) => describeModel(model, keys[namespace]!, pods));
  const workspaceOf = (namespace: string) => ({
    namespace,
    apiKey: keys[namespace]!,
    deployments: entriesOf(namespace),
  });
  return {
    mode: 'cluster',
    deployments: entriesOf(WORKSPACES.own),
    otherWorkspace: workspaceOf(WORKSPACES.other),
    exhaustedWorkspace: workspaceOf(WORKSPACES.exhausted),
    storageCredentials: credentials
      .filter(({ metadata }) => metadata.namespace === WORKSPACES.own)
      .map((credential) => ({
        id: credential.status.id!,
        verified: readVerdict(credential)?.status === 'True',
        bucket: credential.spec.bucket,
      }))
      .sort((one, other) => one.id - other.id),
    unknownURL: `http://nobody--${WORKSPACES.own}.${cluster.domain}/v1`,
    s3: { endpoint: publicURL(cluster), bucket: BUCKET, ...(await readStorageKeys(cluster)) },
    redisURL: await readRedisURL(cluster),
    webhooks: await describeWebhooks(cluster),
    console: { url: consoleURL(cluster), token: await createMemberToken(cluster) },
    objects: null,
    cluster: { kubeconfig: cluster.kubeconfig, exec: cluster.exec },
  };
}

function describeModel(model: ModelDeployment, apiKey: string, pods: Pod[]): EndpointEntry {
  const { metadata, spec, status } = model;
  const port = spec.engine.env.find(({ name }) => name === CONTROL_PORT_VARIABLE)?.value;
  const addresses = pods
    .filter(({ metadata: { labels, namespace, deletionTimestamp } }) => {
      const isOurs = labels?.[LABELS.deployment] === metadata.name && namespace === metadata.namespace;
      return isOurs && !deletionTimestamp;
    })
    .filter(isReady)
    .map((pod) => `http://${pod.status.podIP}:${port}`);
  const simulatorURLs = port && !spec.paused ? addresses : null;
  return {
    name: metadata.name,
    namespace: metadata.namespace,
    kind: spec.kind,
    modelId: spec.model.id,
    registrationId: status.registrationId!,
    baseURL: `${status.url!.replace(/\/v1\/?$/, '')}/v1`,
    apiKey,
    simulatorURL: simulatorURLs?.[0] ?? null,
    simulatorURLs,
    ...describeMedia(buildGatewayConfig(model)),
    ...(spec.paused && { paused: true as const }),
  };
}

const isReady = ({ status }: Pod): boolean =>
  status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;

/** With the current signing secret, which changes when it is rolled. */
export async function describeWebhooks(cluster: Cluster): Promise<EndpointsFile['webhooks']> {
  return { signingSecret: await readSigningSecret(cluster), receiverHost: cluster.nodeIP, plainHTTP: true };
}

/** The operator creates it soon after it leads. */
async function readSigningSecret(cluster: Cluster): Promise<string> {
  const find = [
    'get',
    'secret',
    SIGNING_SECRET_NAME,
    '-n',
    WORKSPACES.own,
    '--ignore-not-found',
    '-o',
    'json',
  ];
  for (const deadline = Date.now() + SECRET_TIMEOUT_MS; ; await sleep(POLL_MS)) {
    const text = await runKubectl(cluster, find);
    if (text.trim() !== '')
      return Buffer.from(JSON.parse(text).data[SIGNING_SECRET_FIELD], 'base64').toString();
    if (Date.now() > deadline)
      throw new Error(`there is no Secret ${SIGNING_SECRET_NAME} in ${WORKSPACES.own}`);
  }
}

/** As the operator's user, who may see everything. */
async function readRedisURL(cluster: Cluster): Promise<string> {
  const read = async (kind: string): Promise<Record<string, never>> =>
    JSON.parse(
      await runKubectl(cluster, ['get', kind, `${RELEASE}-redis`, '-n', RELEASE_NAMESPACE, '-o', 'json']),
    );
  const { data } = (await read('secret')) as unknown as { data: Record<string, string> };
  const { spec } = (await read('service')) as unknown as { spec: { clusterIP: string } };
  const decode = (field: string) => Buffer.from(data[field]!, 'base64').toString();
  return `redis://${decode('operator-username')}:${decode('operator-password')}@${spec.clusterIP}:6379`;
}
