/** The cluster that the tests run in: its endpoints, kubectl, and waiting on what it shows. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import OpenAI from 'openai';
import type { ModelDeployment } from '../../api/model-deployment.ts';
import { LABELS } from '../../api/names.ts';
import { type Cluster, readCluster } from '../../cluster/layout.ts';
import { createKubeClient } from '../../kube/client.ts';
import { loadKubeConfig } from '../../kube/connection.ts';
import { RESOURCES, type Resource } from '../../kube/resource.ts';
import { isSettled } from '../../launch/cluster-models.ts';
import { type EndpointEntry, readEndpoints } from '../../launch/endpoints-file.ts';
import { applyObjects, runKubectl } from '../../launch/kubectl.ts';
import { RELEASE, runHelm } from '../../launch/release.ts';
import { BERTH_RESOURCES } from '../../operator/framework/berth-resources.ts';
import { pollUntil } from '../support/poll.ts';
import { CLUSTER_VARIABLE, ENDPOINTS_FILE } from './environment.ts';

const POLL_MS = 100;

const name = process.env[CLUSTER_VARIABLE];
if (!name) throw new Error('run these tests by `make test-e2e`: they need a cluster');

/** As seen from within the cluster's network: commands need no `exec` prefix. */
export const cluster: Cluster = { ...readCluster(name), exec: [] };
const endpoints = readEndpoints(join(cluster.stateFolder, ENDPOINTS_FILE))!;
/** For polling: a kubectl for each read would keep a core busy. */
const client = createKubeClient({
  config: loadKubeConfig({ file: cluster.kubeconfig }),
  userAgent: 'berth-e2e',
});

const HPA: Resource = {
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  plural: 'horizontalpodautoscalers',
  namespaced: true,
};
const KINDS = { ...RESOURCES, ...BERTH_RESOURCES, HorizontalPodAutoscaler: HPA };
export type Kind = keyof typeof KINDS;

export { endpoints };

export interface Pod {
  metadata: {
    name: string;
    uid: string;
    namespace: string;
    deletionTimestamp?: string;
    deletionGracePeriodSeconds?: number;
    annotations?: Record<string, string>;
  };
  spec: { nodeName?: string; containers: Container[]; initContainers?: Container[] };
  status: {
    podIP?: string;
    conditions?: { type: string; status: string; lastTransitionTime?: string }[];
    containerStatuses?: ContainerStatus[];
    initContainerStatuses?: ContainerStatus[];
  };
}

interface Container {
  name: string;
  image: string;
  resources?: { limits?: { memory?: string }; requests?: Record<string, string> };
}

interface ContainerStatus {
  name: string;
  restartCount: number;
  ready: boolean;
  containerID?: string;
  started?: boolean;
  state?: { terminated?: { message?: string } };
}

/** An endpoint of the examples. */
export function findEndpoint(name: string, namespace = 'default'): EndpointEntry {
  const all = [endpoints, endpoints.otherWorkspace, endpoints.exhaustedWorkspace].flatMap(
    (workspace) => workspace?.deployments ?? [],
  );
  const found = all.find((entry) => entry.name === name && entry.namespace === namespace);
  if (!found) throw new Error(`no endpoint ${namespace}/${name}`);
  return found;
}

/** The OpenAI SDK as it comes, but for its retries: they would hide what a test looks for. */
export const connect = ({ baseURL, apiKey }: { baseURL: string; apiKey: string }): OpenAI =>
  new OpenAI({ baseURL, apiKey, maxRetries: 0 });

export const kubectl = (...args: string[]): Promise<string> => runKubectl(cluster, args);

export const apply = (...objects: object[]): Promise<void> => applyObjects(cluster, objects);

export const readObject = <T>(kind: Kind, name: string, namespace = 'default'): Promise<T> =>
  client.get(KINDS[kind], { name, namespace }) as Promise<T>;

/** Undefined where there is none. */
export const findObject = <T>(kind: Kind, name: string, namespace = 'default'): Promise<T | undefined> =>
  client.find(KINDS[kind], { name, namespace }) as Promise<T | undefined>;

export const readModel = (name: string): Promise<ModelDeployment> => readObject('ModelDeployment', name);

/** Merges a patch into a ModelDeployment. */
export async function patchModel(name: string, spec: object): Promise<void> {
  await kubectl('patch', 'modeldeployment', name, '--type=merge', '-p', JSON.stringify({ spec }));
}

/** Pods by selector, those that are going included. */
export async function listPods(labelSelector: string, namespace = 'default'): Promise<Pod[]> {
  const { items } = await client.list(RESOURCES.Pod, { namespace, labelSelector });
  return items as unknown as Pod[];
}

export const listModelPods = (name: string): Promise<Pod[]> => listPods(`${LABELS.deployment}=${name}`);

export const hasCondition = ({ status }: Pod, name: string): boolean =>
  status.conditions?.some(({ type, status }) => type === name && status === 'True') ?? false;

export const isPodReady = (pod: Pod): boolean =>
  !pod.metadata.deletionTimestamp && hasCondition(pod, 'Ready');

/** Polls until `isMet`; throws, naming what was waited for. */
export const waitUntil = (what: string, seconds: number, isMet: () => Promise<boolean>): Promise<void> =>
  pollUntil(isMet, what, seconds * 1000, POLL_MS);

export const waitForModel = (name: string, seconds = 180): Promise<void> =>
  waitUntil(`${name} to be ready`, seconds, async () => {
    const model = await readModel(name);
    if (!isSettled(model)) return false;
    const pods = await listModelPods(name);
    return pods.length === (model.spec.paused ? 0 : (model.spec.replicas ?? 1));
  });

/** A simulator of the default workspace, with its control port open, and its endpoint. */
export async function deploySimulator(
  name: string,
  { env = {}, ...spec }: Record<string, unknown> & { env?: Record<string, string> } = {},
): Promise<EndpointEntry> {
  const variables = {
    SIMULATOR_CONTROL_HOST: '::',
    SIMULATOR_CONTROL_PORT: '9100',
    ...env,
  };
  await apply({
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'ModelDeployment',
    metadata: { name, namespace: 'default' },
    spec: {
      kind: 'LLM',
      model: { id: `e2e/${name}` },
      engine: {
        preset: 'simulator',
        env: Object.entries(variables).map(([name, value]) => ({ name, value })),
      },
      ...spec,
    },
  });
  const example = findEndpoint('tiny-chat');
  return {
    ...example,
    name,
    modelId: `e2e/${name}`,
    baseURL: example.baseURL.replace('tiny-chat--', `${name}--`),
    simulatorURL: null,
    simulatorURLs: null,
  };
}

/** A pod may use its whole grace period (operator/model/unserved-pods.ts). Where it stays, the error says what is left of it. */
export async function removeModel(name: string): Promise<void> {
  await kubectl('delete', 'modeldeployment', name, '--ignore-not-found', '--timeout=240s').catch(
    async (error: Error) => {
      const pods = await listModelPods(name);
      throw new Error(
        `${name} is left with ${pods.map(describePod).join('; ') || 'no pod'}: ${error.message}`,
      );
    },
  );
}

function describePod({ metadata, status }: Pod): string {
  const { name, deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  const states = (status.containerStatuses ?? []).map(
    ({ name, state, started }) => `${name} ${started ? 'started, ' : ''}${Object.keys(state ?? {})}`,
  );
  return `${name} deleted ${deletionTimestamp} (${deletionGracePeriodSeconds} s): ${states.join(', ')}`;
}

/** Upgrades the release, which keeps all that was changed before: only what this changes restarts. */
export async function changeRelease(changes: object): Promise<void> {
  const values = join(cluster.stateFolder, 'changes.json');
  writeFileSync(values, JSON.stringify(changes));
  const options = ['--reset-then-reuse-values', '--wait', '--timeout=4m', '--values', values];
  await runHelm(cluster, ['upgrade', RELEASE, 'charts/berth', ...options]);
}

/** Resolves once the operator has reconciled a new change: what was queued before is done by then. */
export async function proveReconciling(name: string, seconds: number): Promise<void> {
  await apply({ apiVersion: 'berth.dev/v1alpha1', kind: 'APIKey', metadata: { name, namespace: 'other' } });
  try {
    await kubectl('wait', `apikey/${name}`, '-n', 'other', '--for=condition=Ready', `--timeout=${seconds}s`);
  } finally {
    await kubectl('delete', 'apikey', name, '-n', 'other');
  }
}
