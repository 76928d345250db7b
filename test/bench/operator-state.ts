/** Fills a real API server with deployments as a large cluster has them, and plays the kubelet for their pods. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { V1Deployment, V1EndpointSlice } from '@kubernetes/client-node';
import { parse } from 'yaml';
import { LABELS, MANAGED_BY } from '../../api/names.ts';
import { createKubeClient, type KubeClient } from '../../kube/client.ts';
import { loadKubeConfig } from '../../kube/connection.ts';
import type { KubeObject, Wire } from '../../kube/object.ts';
import { RESOURCES, type Resource } from '../../kube/resource.ts';
import { BERTH_RESOURCES } from '../../operator/framework/cluster-view.ts';
import { type ControlPlane, startControlPlane } from '../cluster/control-plane.ts';

export const SYSTEM_NAMESPACE = 'berth-system';
export const FRONT_SERVICE = 'berth-front';
const MODELS_PER_NAMESPACE = 25;
/** Calls of the bench at a time, so that populating leaves the API server some room. */
const CONCURRENCY = 16;
/** Objects of a list at a time: their answer stays within what the client reads. */
const PAGE_SIZE = 500;
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

/** Starts etcd and an API server with Berth's resources in it, and a front that is ready. */
export async function startBenchCluster(): Promise<BenchCluster> {
  const controlPlane = await startControlPlane();
  const client = createKubeClient({
    config: loadKubeConfig({ file: controlPlane.kubeconfig }),
    maxConnections: CONCURRENCY,
  });
  const folder = join(import.meta.dirname, '../../crds');
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.yaml')))
    await client.create(CRD, parse(readFileSync(join(folder, file), 'utf8')) as KubeObject);
  for (const resource of Object.values(BERTH_RESOURCES)) await untilServed(client, resource);
  await create(client, RESOURCES.Namespace, { name: SYSTEM_NAMESPACE });
  await create(client, RESOURCES.IngressClass, { name: 'bench' }, { spec: { controller: 'bench.test/c' } });
  await setFront(client, '10.1.0.1');
  const close = async () => {
    await client.close();
    await controlPlane.close();
  };
  return { controlPlane, client, close };
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
export async function listFrontSlices(client: KubeClient): Promise<Wire<V1EndpointSlice>[]> {
  const labelSelector = `${LABELS.managedBy}=${MANAGED_BY},${LABELS.deployment}`;
  const slices: Wire<V1EndpointSlice>[] = [];
  let next: string | undefined;
  do {
    const page = await client.list<Wire<V1EndpointSlice>>(RESOURCES.EndpointSlice, {
      labelSelector,
      limit: PAGE_SIZE,
      continue: next,
    });
    slices.push(...page.items);
    next = page.metadata.continue;
  } while (next);
  return slices;
}

export const listModels = (count: number): ModelName[] =>
  Array.from({ length: count }, (_, index) => ({
    namespace: `team-${Math.floor(index / MODELS_PER_NAMESPACE)}`,
    name: `model-${index}`,
  }));

/** Creates the objects that people would: a namespace for each team, with a workspace, a key and its models. */
export async function createModels(client: KubeClient, models: ModelName[]): Promise<void> {
  const namespaces = [...new Set(models.map(({ namespace }) => namespace))];
  await inParallel(namespaces, async (namespace) => {
    await create(client, RESOURCES.Namespace, { name: namespace });
    const token = Buffer.from('hf_token').toString('base64');
    await create(client, RESOURCES.Secret, { name: 'huggingface', namespace }, { data: { token } });
    const spec = { credit: '100', ownerEmail: 'owner@example.com' };
    await create(client, BERTH_RESOURCES.Workspace, { name: 'workspace', namespace }, { spec });
    await create(client, BERTH_RESOURCES.APIKey, { name: 'key', namespace }, { spec: {} });
  });
  await inParallel(models, (model) => createModel(client, model));
}

/** As people write it, with what most specs have. */
export async function createModel(client: KubeClient, { namespace, name }: ModelName): Promise<void> {
  const huggingFace = { repo: `meta-llama/${name}`, tokenSecret: { name: 'huggingface', key: 'token' } };
  const args = ['--max-model-len=8192', '--gpu-memory-utilization=0.92', '--enable-prefix-caching'];
  const spec = {
    kind: 'LLM',
    model: { id: `meta-llama/${name}`, displayName: name, source: { huggingFace } },
    engine: { preset: 'vllm', args, env: [{ name: 'VLLM_LOGGING_LEVEL', value: 'INFO' }] },
    gpu: { count: 1 },
    resources: { requests: { cpu: '4', memory: '32Gi' } },
    pricing: { perMillionInputTokens: '0.20', perMillionOutputTokens: '0.60' },
  };
  await create(client, BERTH_RESOURCES.ModelDeployment, { name, namespace }, { spec });
}

/** Gives a model whose Deployment is there a pod that serves. */
export async function runPod(client: KubeClient, { namespace, name }: ModelName): Promise<void> {
  const live = await client.get<Wire<V1Deployment>>(RESOURCES.Deployment, { namespace, name });
  const template = live.spec!.template;
  const pod = { name: `${name}-7d9f8b6c5-x2x4z`, namespace };
  const spec = { ...template.spec, nodeName: 'node-1', volumes: template.spec!.volumes };
  await create(client, RESOURCES.Pod, { ...pod, labels: template.metadata!.labels }, { spec });
  await patchStatus(client, RESOURCES.Pod, pod, podStatus(template.spec!));
  await patchStatus(
    client,
    RESOURCES.Deployment,
    { namespace, name },
    {
      observedGeneration: live.metadata.generation,
      replicas: 1,
      updatedReplicas: 1,
      readyReplicas: 1,
      availableReplicas: 1,
    },
  );
}

export async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async () => {
      for (const item of queue) await work(item);
    }),
  );
}

const READY_SINCE = '2026-01-01T00:00:00Z';

function podStatus({
  containers,
  initContainers = [],
}: NonNullable<V1Deployment['spec']>['template']['spec'] & object) {
  const statuses = (list: typeof containers) =>
    list.map(({ name, image }) => ({
      name,
      image,
      imageID: `${image}@sha256:${'0'.repeat(64)}`,
      containerID: `containerd://${'1'.repeat(64)}`,
      ready: true,
      started: true,
      restartCount: 0,
      state: { running: { startedAt: READY_SINCE } },
    }));
  const conditions = ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'].map((type) => ({
    type,
    status: 'True',
    lastTransitionTime: READY_SINCE,
  }));
  return {
    phase: 'Running',
    podIP: '10.2.0.1',
    podIPs: [{ ip: '10.2.0.1' }],
    hostIP: '10.0.0.1',
    startTime: READY_SINCE,
    conditions,
    containerStatuses: statuses(containers),
    initContainerStatuses: statuses(initContainers),
  };
}

const patchStatus = (client: KubeClient, resource: Resource, at: ModelName, status: object) =>
  client.mergePatch(resource, { at: { ...at, subresource: 'status' }, patch: { status } });

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
