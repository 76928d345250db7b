/** Plays Kubernetes' Deployment controller on a cluster in memory: a new template is ready a moment later, or never. */
import { isDeepStrictEqual } from 'node:util';
import type { V1PodTemplateSpec } from '@kubernetes/client-node';
import { CONTAINERS } from '../../../api/names.ts';
import type { KubeObject } from '../../../kube/object.ts';
import { RESOURCES } from '../../../kube/resource.ts';
import { readyStatus } from './cluster-player.ts';
import type { MemoryCluster } from './memory-cluster.ts';

const STEP_MS = 10;
/** How long a new template takes, in steps. */
const ROLLOUT_STEPS = 5;

interface Rollout {
  template: V1PodTemplateSpec;
  steps: number;
}

export class DeploymentController {
  /** Keys of the deployments that rolled, in the order in which they began; first templates do not count. */
  readonly rolled: string[] = [];
  /** The most that rolled at once. */
  mostRolling = 0;
  /** Nothing rolls. */
  isDone = false;
  /** Images of the sidecar whose pods never become ready. */
  readonly brokenImages = new Set<string>();
  readonly #cluster: MemoryCluster;
  readonly #rollouts = new Map<string, Rollout>();
  readonly #timer: NodeJS.Timeout;

  constructor(cluster: MemoryCluster) {
    this.#cluster = cluster;
    this.#timer = setInterval(() => this.#step(), STEP_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #step(): void {
    const deployments = [...this.#cluster.store(RESOURCES.Deployment)];
    let rolling = 0;
    for (const [key, deployment] of deployments) if (!this.#advance(key, deployment)) rolling++;
    this.isDone = rolling === 0;
    this.mostRolling = Math.max(this.mostRolling, rolling);
  }

  /** Whether all its pods are as they are wanted. */
  #advance(key: string, deployment: KubeObject): boolean {
    const { template } = deployment.spec as { template: V1PodTemplateSpec };
    const before = this.#rollouts.get(key);
    if (!before || !isDeepStrictEqual(before.template, template)) {
      if (before) this.rolled.push(key);
      // What is new has its first pods at once.
      this.#rollouts.set(key, { template, steps: before ? ROLLOUT_STEPS : 0 });
      this.#makePod(deployment, template);
    }
    const rollout = this.#rollouts.get(key)!;
    if (rollout.steps > 0) rollout.steps--;
    const isDone = rollout.steps === 0;
    const isBroken = this.brokenImages.has(imageOf(template));
    this.#setStatus(deployment, isDone ? (isBroken ? 'stuck' : 'complete') : 'rolling');
    return isDone;
  }

  #makePod({ metadata }: KubeObject, template: V1PodTemplateSpec): void {
    this.#cluster.put(RESOURCES.Pod, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: metadata.name, namespace: metadata.namespace, labels: template.metadata!.labels },
      spec: {},
      status: readyStatus('10.1.0.1'),
    } as KubeObject);
  }

  #setStatus(deployment: KubeObject, state: 'rolling' | 'complete' | 'stuck'): void {
    const reason = {
      rolling: 'ReplicaSetUpdated',
      complete: 'NewReplicaSetAvailable',
      stuck: 'ProgressDeadlineExceeded',
    };
    const [old] = (deployment.status as { conditions?: { reason: string }[] } | undefined)?.conditions ?? [];
    if (
      old?.reason === reason[state] &&
      (deployment.status as { observedGeneration: number }).observedGeneration ===
        deployment.metadata.generation
    )
      return;
    const status = {
      observedGeneration: deployment.metadata.generation,
      replicas: 1,
      updatedReplicas: 1,
      availableReplicas: 1,
      conditions: [
        {
          type: 'Progressing',
          status: state === 'stuck' ? 'False' : 'True',
          reason: reason[state],
          lastUpdateTime: new Date().toISOString(),
        },
      ],
    };
    this.#cluster.put(RESOURCES.Deployment, { ...deployment, status });
  }
}

export const imageOf = ({ spec }: V1PodTemplateSpec): string =>
  spec!.initContainers!.find(({ name }) => name === CONTAINERS.gateway)!.image!;
