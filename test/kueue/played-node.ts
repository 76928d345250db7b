/** A node whose kubelet is played: pods run as soon as they have it, and take as long to end as a test wants. */
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { V1Pod } from '@kubernetes/client-node';
import { ensureBinary } from '../../cluster/binaries.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { Wire } from '../../kube/object.ts';
import { RESOURCES } from '../../kube/resource.ts';
import { killProcess, startProcess } from '../support/child-processes.ts';
import type { ControlPlane } from '../support/control-plane.ts';
import { createKubeRequest, type KubeRequest } from '../support/kube-request.ts';
import { listControllers } from '../support/kubernetes-controllers.ts';

const NODE = 'node-1';
const POLL_MS = 200;

export interface PlayedNode {
  /** From the deletion of a pod to its end. */
  drainMs: number;
  /** Pods that get the node do not become ready. */
  isSlow: boolean;
  /** The ends of the logs of the scheduler and the controllers. */
  readLogs(): string;
  close(): Promise<void>;
}

/** Starts Kubernetes' controllers and scheduler, and the node. */
export async function startPlayedNode(
  controlPlane: ControlPlane,
  client: KubeClient,
  gpus: number,
): Promise<PlayedNode> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-played-node-'));
  const { kubeconfig } = controlPlane;
  // It removes pods that were deleted before they had a node.
  const controllers = ['pod-garbage-collector-controller'];
  const processes: ChildProcess[] = [];
  const logs: string[] = [];
  for (const [name, args] of Object.entries(listControllers({ kubeconfig, folder, controllers }))) {
    const logPath = join(folder, `${name}.log`);
    logs.push(logPath);
    processes.push(startProcess(await ensureBinary(name), [name, ...args], { logPath }));
  }
  await createNode(client, gpus);
  const kubelet = new Kubelet(client, createKubeRequest(controlPlane));
  const timer = setInterval(() => void kubelet.play(), POLL_MS);
  return {
    get drainMs() {
      return kubelet.drainMs;
    },
    set drainMs(ms) {
      kubelet.drainMs = ms;
    },
    get isSlow() {
      return kubelet.isSlow;
    },
    set isSlow(isSlow) {
      kubelet.isSlow = isSlow;
    },
    readLogs: () => logs.map((path) => readFileSync(path, 'utf8').slice(-2_000)).join('\n'),
    close: async () => {
      clearInterval(timer);
      await Promise.all(processes.map(killProcess));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function createNode(client: KubeClient, gpus: number): Promise<void> {
  const allocatable = { cpu: '100', memory: '1Ti', pods: '110', 'nvidia.com/gpu': String(gpus) };
  await client.create(RESOURCES.Node, {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: NODE, labels: { 'kubernetes.io/hostname': NODE, 'kubernetes.io/os': 'linux' } },
    status: { allocatable, capacity: allocatable, conditions: [{ type: 'Ready', status: 'True' }] },
  });
  // Every new node has one; a controller that does not run here would remove it.
  await client.mergePatch(RESOURCES.Node, { at: { name: NODE }, patch: { spec: { taints: null } } });
}

class Kubelet {
  drainMs = 0;
  isSlow = false;
  readonly #client: KubeClient;
  readonly #request: KubeRequest;
  /** By uid of a pod that ends: Unix milliseconds since when. */
  readonly #endingSince = new Map<string, number>();
  #pods = 0;
  #isBusy = false;

  constructor(client: KubeClient, request: KubeRequest) {
    this.#client = client;
    this.#request = request;
  }

  async play(): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      const { items } = await this.#client.list<Wire<V1Pod>>(RESOURCES.Pod);
      for (const pod of items) if (pod.spec?.nodeName) await this.#playPod(pod);
    } catch {
      // A pod has changed meanwhile: the next time.
    } finally {
      this.#isBusy = false;
    }
  }

  async #playPod({ metadata, spec, status }: Wire<V1Pod>): Promise<void> {
    const { name, namespace } = metadata;
    const at = { name, namespace, subresource: 'status' };
    if (metadata.deletionTimestamp) {
      if (status?.phase === 'Succeeded' || !this.#hasDrained(metadata.uid!)) return;
      await this.#client.mergePatch(RESOURCES.Pod, { at, patch: { status: { phase: 'Succeeded' } } });
      const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
      await this.#request('DELETE', path, { gracePeriodSeconds: 0 });
    } else if (!status?.podIP && !this.isSlow) {
      const scheduled = (status?.conditions ?? []).filter(({ type }) => type === 'PodScheduled');
      const running = describeRunning(spec as PodSpec, `10.1.0.${++this.#pods}`);
      const patch = { status: { ...running, conditions: [...scheduled, ...running.conditions] } };
      await this.#client.mergePatch(RESOURCES.Pod, { at, patch });
    }
  }

  #hasDrained(uid: string): boolean {
    const since = this.#endingSince.get(uid) ?? Date.now();
    this.#endingSince.set(uid, since);
    return Date.now() - since >= this.drainMs;
  }
}

interface PodSpec {
  initContainers?: { name: string; image: string }[];
  containers: { name: string; image: string }[];
}

function describeRunning({ initContainers = [], containers }: PodSpec, podIP: string) {
  const now = new Date().toISOString();
  const show = ({ name, image }: { name: string; image: string }) => ({
    name,
    image,
    imageID: image,
    ready: true,
    started: true,
    restartCount: 0,
    state: { running: { startedAt: now } },
  });
  return {
    phase: 'Running',
    podIP,
    podIPs: [{ ip: podIP }],
    conditions: ['Initialized', 'ContainersReady', 'Ready'].map((type) => ({
      type,
      status: 'True',
      lastTransitionTime: now,
    })),
    initContainerStatuses: initContainers.map(show),
    containerStatuses: containers.map(show),
  };
}
