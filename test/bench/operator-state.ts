/** Fills a cluster of fake nodes with the deployments of a large installation. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { V1Deployment, V1EndpointSlice } from '@kubernetes/client-node';
import { parse } from 'yaml';
import { LABELS, MANAGED_BY } from '../../api/names.ts';
import { createKubeClient, type KubeClient } from '../../kube/client.ts';
import { loadKubeConfig } from '../../kube/connection.ts';
import type { KubeObject, Wire } from '../../kube/object.ts';
import { RESOURCES, type Resource } from '../../kube/resource.ts';
import { BERTH_RESOURCES } from '../../operator/framework/berth-resources.ts';
import { SLICE_MANAGER_LABEL } from '../../operator/resources/front-slices.ts';
import { type ControlPlane, startControlPlane } from '../support/control-plane.ts';
import { startFakeNodes } from '../support/fake-nodes.ts';

export const SYSTEM_NAMESPACE = 'berth-system';
export const FRONT_SERVICE = 'berth-front';
const MODELS_PER_NAMESPACE = 25;
/** Concurrent calls of the bench, which leave the API server some capacity. */
const CONCURRENCY = 16;
/** Objects per page: within the limit of bytes that the client reads. */
const PAGE_SIZE = 200;
const CRD: Resource = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
};

export interface BenchCluster {
  controlPlane: ControlPlane;
  client: KubeClient;
  close(): Promise<void>;
}

export interface ModelName {
  namespace: string;
  name: string;
}

/** Starts a control plane with Berth's resources, nodes for this many pods, and a front that is ready. */
export async function startBenchCluster(pods: number, checkout: string): Promise<BenchCluster> {
  const controlPlane = await startControlPlane();
  const client = createKubeClient({
    config: loadKubeConfig({ file: controlPlane.kubeconfig }),
    maxConnections: CONCURRENCY,
  });
  await installBerth(client, checkout);
  const nodes = await startFakeNodes(controlPlane, client, { nodes: Math.ceil(pods / 100) + 1 });
  const close = async () => {
    await client.close();
    await nodes.close();
    await controlPlane.close();
  };
  return { controlPlane, client, close };
}

/** Berth's resources as a checkout has them, and a front that is ready. */
export async function installBerth(client: KubeClient, checkout = '.'): Promise<void> {
  const folder = join(checkout, 'charts/berth/files/crds');
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.yaml')))
    await client.create(CRD, parse(readFileSync(join(folder, file), 'utf8')) as KubeObject);
  for (const resource of Object.values(BERTH_RESOURCES)) await untilServed(client, resource);
  await create(client, RESOURCES.Namespace, { name: SYSTEM_NAMESPACE });
  await create(client, RESOURCES.IngressClass, { name: 'bench' }, { spec: { controller: 'bench.test/c' } });
  await setFront(client, '10.1.0.1');
}

/** The one front that is ready, as the EndpointSlice controller would list it. */
export async function setFront(client: KubeClient, address: string): Promise<void> {
  const { apiVersion, kind } = RESOURCES.EndpointSlice;
  const labels = { 'kubernetes.io/service-name': FRONT_SERVICE };
  const slice = {
    apiVersion,
    kind,
    metadata: { name: `${FRONT_SERVICE}-1`, namespace: SYSTEM_NAMESPACE, labels },
    addressType: 'IPv4',
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
  };
  await client.apply(RESOURCES.EndpointSlice, slice, { fieldManager: 'bench', force: true });
}

/** The slices by which deployments' Services lead to the front. */
export const listFrontSlices = (client: KubeClient): Promise<Wire<V1EndpointSlice>[]> =>
  listAll(client, RESOURCES.EndpointSlice, `${SLICE_MANAGER_LABEL}=${MANAGED_BY},${LABELS.deployment}`);

async function listAll<T extends KubeObject>(
  client: KubeClient,
  resource: Resource,
  labelSelector: string,
): Promise<T[]> {
  const items: T[] = [];
  let next: string | undefined;
  do {
    const page = await client.list<T>(resource, { labelSelector, limit: PAGE_SIZE, continue: next });
    items.push(...page.items);
    next = page.metadata.continue;
  } while (next);
  return items;
}

export const listModels = (count: number): ModelName[] =>
  Array.from({ length: count }, (_, index) => ({
    namespace: `team-${Math.floor(index / MODELS_PER_NAMESPACE)}`,
    name: `model-${index}`,
  }));

/** Creates the objects of users: a namespace per team, with a workspace, a key and models. */
export async function createModels(client: KubeClient, models: ModelName[]): Promise<void> {
  await createWorkspaces(client, [...new Set(models.map(({ namespace }) => namespace))]);
  await inParallel(models, (model) => createModel(client, model));
}

/** Each with a key. */
export async function createWorkspaces(client: KubeClient, namespaces: readonly string[]): Promise<void> {
  await inParallel(namespaces, async (namespace) => {
    await create(client, RESOURCES.Namespace, { name: namespace });
    const token = Buffer.from('hf_token').toString('base64');
    await create(client, RESOURCES.Secret, { name: 'huggingface', namespace }, { data: { token } });
    const spec = { credit: '100', ownerEmail: 'owner@example.com' };
    await create(client, BERTH_RESOURCES.Workspace, { name: 'workspace', namespace }, { spec });
    await create(client, BERTH_RESOURCES.APIKey, { name: 'key', namespace }, { spec: {} });
  });
}

/** With the usual fields of a spec. */
export async function createModel(
  client: KubeClient,
  { namespace, name }: ModelName,
  more: object = {},
): Promise<void> {
  const huggingFace = { repo: `meta-llama/${name}`, tokenSecret: { name: 'huggingface', key: 'token' } };
  const args = ['--max-model-len=8192', '--gpu-memory-utilization=0.92', '--enable-prefix-caching'];
  const spec = {
    kind: 'LLM',
    model: { id: `meta-llama/${name}`, displayName: name, source: { huggingFace } },
    engine: { preset: 'vllm', args, env: [{ name: 'VLLM_LOGGING_LEVEL', value: 'INFO' }] },
    gpu: { count: 1 },
    resources: { requests: { cpu: '4', memory: '32Gi' } },
    pricing: { perMillionInputTokens: '0.20', perMillionOutputTokens: '0.60' },
    ...more,
  };
  await create(client, BERTH_RESOURCES.ModelDeployment, { name, namespace }, { spec });
}

/** Whether every Deployment that wants a pod has one that serves. */
export async function arePodsReady(client: KubeClient, count: number): Promise<boolean> {
  const labelSelector = `${LABELS.managedBy}=${MANAGED_BY},${LABELS.deployment}`;
  const deployments = await listAll<Wire<V1Deployment>>(client, RESOURCES.Deployment, labelSelector);
  const isReady = ({ spec, status }: Wire<V1Deployment>) => spec?.replicas === (status?.readyReplicas ?? 0);
  return deployments.length >= count && deployments.every(isReady);
}

export async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async () => {
      for (const item of queue) await work(item);
    }),
  );
}

const create = (
  client: KubeClient,
  { apiVersion, kind, ...resource }: Resource,
  metadata: KubeObject['metadata'],
  rest: object = {},
) => client.create({ apiVersion, kind, ...resource }, { apiVersion, kind, metadata, ...rest });

async function untilServed(client: KubeClient, resource: Resource): Promise<void> {
  for (const deadline = Date.now() + 30_000; ; ) {
    try {
      await client.list(resource, { limit: 1 });
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
