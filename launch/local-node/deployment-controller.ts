/** Manages the pods of Deployments, like kube-controller-manager: rollouts, scaling, status. */
import { createHash, randomBytes } from 'node:crypto';
import { ANNOTATIONS } from '../../api/names.ts';
import type { MemoryApi } from '../../kube/memory/memory-api.ts';
import type { KubeObject } from '../../kube/object.ts';
import { formatTime } from '../../kube/time.ts';
import { isPodReady } from './pod-status.ts';
import { decideRollout, type RolloutPod, resolveCount } from './rollout.ts';

const TEMPLATE_HASH_LABEL = 'pod-template-hash';
const MANAGER = 'kube-controller-manager';

interface DeploymentSpec {
  replicas?: number;
  paused?: boolean;
  strategy?: { type?: string; rollingUpdate?: { maxSurge?: unknown; maxUnavailable?: unknown } };
  template: { metadata?: Partial<KubeObject['metadata']>; spec: object };
}

/** Until the returned function is called. */
export function startDeploymentController(api: MemoryApi, onError: (error: Error) => void): () => void {
  const due = new Set<string>();
  const enqueue = (namespace: string, name: string) => {
    if (due.size === 0) setImmediate(run);
    due.add(`${namespace}/${name}`);
  };
  function run(): void {
    const keys = [...due];
    due.clear();
    for (const key of keys) {
      const [namespace = '', name = ''] = key.split('/');
      try {
        const deployment = api.find('deployments.apps', { namespace, name });
        if (deployment && !deployment.metadata.deletionTimestamp) syncDeployment(api, deployment);
      } catch (error) {
        // Others continue.
        onError(new Error(`Deployment ${key}: ${(error as Error).message}`));
      }
    }
  }
  return api.store.listen(({ key, object }) => {
    const { namespace = '', name, ownerReferences = [] } = object.metadata;
    if (key === 'deployments.apps') enqueue(namespace, name);
    const owner = key === 'pods' && ownerReferences.find(({ kind }) => kind === 'Deployment');
    if (owner) enqueue(namespace, owner.name);
  });
}

function syncDeployment(api: MemoryApi, deployment: KubeObject): void {
  const spec = deployment.spec as unknown as DeploymentSpec;
  const { namespace, name, uid } = deployment.metadata;
  const replicas = spec.replicas ?? 1;
  const hash = hashTemplate(spec.template);
  const own = api
    .list('pods', namespace)
    .filter(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.uid === uid));
  const pods = own.filter(({ metadata }) => !metadata.deletionTimestamp);
  const described = pods.map((pod): RolloutPod => describePod(pod, hash));
  const { maxSurge = '25%', maxUnavailable = '25%' } = spec.strategy?.rollingUpdate ?? {};
  const step = decideRollout(described, {
    replicas,
    maxSurge: resolveCount(maxSurge, replicas, Math.ceil),
    maxUnavailable: resolveCount(maxUnavailable, replicas, Math.floor),
    isRecreated: spec.strategy?.type === 'Recreate',
    isPaused: spec.paused === true,
  });
  for (let made = 0; made < step.create; made++)
    api.create('pods', buildPod(deployment, hash), { manager: MANAGER });
  for (const pod of step.remove) api.delete('pods', { namespace, name: pod });
  const status = buildStatus(deployment, described, api.now());
  api.patch(
    'deployments.apps',
    { namespace, name },
    { status },
    { type: 'merge', subresource: 'status', manager: MANAGER },
  );
}

const describePod = (pod: KubeObject, hash: string): RolloutPod => ({
  name: pod.metadata.name,
  isUpdated: pod.metadata.labels?.[TEMPLATE_HASH_LABEL] === hash,
  isReady: isPodReady(pod),
  cost: Number(pod.metadata.annotations?.[ANNOTATIONS.deletionCost] ?? 0),
  createdAt: Date.parse(pod.metadata.creationTimestamp!),
});

const hashTemplate = (template: object): string =>
  createHash('sha256').update(JSON.stringify(template)).digest('hex').slice(0, 10);

function buildPod(deployment: KubeObject, hash: string): KubeObject {
  const { template } = deployment.spec as unknown as DeploymentSpec;
  const { apiVersion, kind, metadata } = deployment;
  const { labels = {}, annotations } = template.metadata ?? {};
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `${metadata.name}-${hash}-${randomBytes(4).toString('hex').slice(0, 5)}`,
      namespace: metadata.namespace!,
      labels: { ...labels, [TEMPLATE_HASH_LABEL]: hash },
      ...(annotations ? { annotations } : {}),
      ownerReferences: [
        {
          apiVersion,
          kind,
          name: metadata.name,
          uid: metadata.uid!,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: structuredClone(template.spec),
  };
}

interface Condition {
  type: string;
  status: string;
  reason: string;
  message: string;
  lastTransitionTime: string;
  lastUpdateTime: string;
}

function buildStatus(deployment: KubeObject, pods: readonly RolloutPod[], now: Date): object {
  const spec = deployment.spec as unknown as DeploymentSpec;
  const before = (deployment.status ?? {}) as { conditions?: Condition[] };
  const replicas = spec.replicas ?? 1;
  const ready = pods.filter(({ isReady }) => isReady).length;
  const updated = pods.filter(({ isUpdated }) => isUpdated);
  const isComplete = updated.length === replicas && pods.length === replicas && ready === replicas;
  const stamp = (type: string, isTrue: boolean, reason: string, message: string): Condition => {
    const status = isTrue ? 'True' : 'False';
    const known = before.conditions?.find((condition) => condition.type === type);
    const isKept = known?.status === status && known.reason === reason;
    const at = formatTime(now);
    return {
      type,
      status,
      reason,
      message,
      lastUpdateTime: isKept ? known.lastUpdateTime : at,
      lastTransitionTime: known?.status === status ? known.lastTransitionTime : at,
    };
  };
  const isAvailable = ready >= Math.min(replicas, 1);
  return {
    observedGeneration: deployment.metadata.generation,
    replicas: pods.length,
    updatedReplicas: updated.length,
    readyReplicas: ready,
    availableReplicas: ready,
    unavailableReplicas: Math.max(0, replicas - ready),
    conditions: [
      stamp(
        'Available',
        isAvailable,
        isAvailable ? 'MinimumReplicasAvailable' : 'MinimumReplicasUnavailable',
        isAvailable
          ? 'Deployment has minimum availability.'
          : 'Deployment does not have minimum availability.',
      ),
      stamp(
        'Progressing',
        true,
        isComplete ? 'NewReplicaSetAvailable' : 'ReplicaSetUpdated',
        isComplete ? 'all replicas are up to date and ready' : 'replicas are being replaced or started',
      ),
    ],
  };
}
