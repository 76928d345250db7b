/** Pods in the states that occur in a cluster. */
import type { V1ContainerStatus, V1Deployment, V1Pod } from '@kubernetes/client-node';
import { type ModelDeployment, modelDeployment } from '../../../../api/model-deployment.ts';
import type { StatusFacts } from '../../../../operator/status/model-deployment.ts';

export const NOW = Date.parse('2026-01-01T12:00:00Z');
export const at = (minutesFromNow: number): Date => new Date(NOW + minutesFromNow * 60_000);

export function makeModel(
  change: { spec?: object; metadata?: object; status?: object } = {},
): ModelDeployment {
  return modelDeployment.parse({
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'ModelDeployment',
    metadata: { name: 'qwen', namespace: 'team-a', uid: 'u1', generation: 3, ...change.metadata },
    spec: { kind: 'LLM', model: { id: 'qwen' }, engine: { preset: 'vllm' }, ...change.spec },
    status: change.status,
  });
}

export interface PodShape {
  uid?: string;
  engine?: Partial<V1ContainerStatus>;
  gateway?: Partial<V1ContainerStatus>;
  init?: Partial<V1ContainerStatus>;
  ready?: boolean;
  /** When it last became ready or unready. */
  readyChangedAt?: Date;
  deleting?: Date;
  node?: string | null;
  unscheduled?: string;
  /** Names of its scheduling gates. */
  gates?: string[];
  /** The LocalQueue of its label. */
  queue?: string;
  /** Its condition that says who evicts it. */
  eviction?: { type: string; reason: string; message?: string };
  phase?: string;
  /** Names of the init containers of its spec. */
  inits?: string[];
  /** The kubelet has reported no container yet. */
  silent?: boolean;
  /** Hash of its template, and when it was created. */
  template?: string;
  created?: Date;
  reason?: string;
}

export function makePod(shape: PodShape = {}): V1Pod {
  const status = (
    name: string,
    image: string,
    change: Partial<V1ContainerStatus> | undefined,
  ): V1ContainerStatus => ({
    name,
    image,
    imageID: `sha256:${name}`,
    ready: false,
    restartCount: 0,
    ...change,
  });
  const scheduled = shape.unscheduled === undefined && !shape.gates && shape.node !== null;
  const containers =
    scheduled && !shape.silent
      ? {
          initContainerStatuses: [
            status('gateway', 'berth/gateway:1', { started: true, state: { running: {} }, ...shape.gateway }),
            ...(shape.init ? [status('weights', 'berth/copy:1', shape.init)] : []),
          ],
          containerStatuses: [status('engine', 'vllm:1', { ready: shape.ready ?? false, ...shape.engine })],
        }
      : {};
  return {
    metadata: {
      name: 'qwen-1',
      ...(shape.uid && { uid: shape.uid }),
      creationTimestamp: shape.created ?? at(-10),
      deletionTimestamp: shape.deleting,
      labels: {
        ...(shape.template && { 'pod-template-hash': shape.template }),
        ...(shape.queue && { 'kueue.x-k8s.io/queue-name': shape.queue }),
      },
    },
    spec: {
      nodeName: scheduled ? 'node-1' : undefined,
      schedulingGates: shape.gates?.map((name) => ({ name })),
      initContainers: (shape.inits ?? ['gateway']).map((name) => ({ name })),
      containers: [{ name: 'engine', image: 'registry.example/vllm:1' }],
    },
    status: {
      phase: shape.phase,
      reason: shape.reason,
      conditions: [
        ...(shape.eviction ? [{ status: 'True', ...shape.eviction }] : []),
        ...(shape.gates
          ? [
              {
                type: 'PodScheduled',
                status: 'False',
                reason: 'SchedulingGated',
                message: 'Scheduling is blocked due to non-empty scheduling gates',
              },
            ]
          : []),
        ...(shape.unscheduled === undefined
          ? []
          : [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: shape.unscheduled }]),
        {
          type: 'Ready',
          status: shape.ready ? 'True' : 'False',
          lastTransitionTime: shape.readyChangedAt ?? at(-10),
        },
      ],
      ...containers,
    },
  };
}

export const makeDeployment = (status: V1Deployment['status'] = { updatedReplicas: 1 }): V1Deployment => ({
  status,
});

export const makeFacts = (change: Partial<StatusFacts> = {}): StatusFacts => ({
  deployment: makeDeployment(),
  pods: [],
  problems: [],
  isOutdated: false,
  desiredReplicas: 1,
  gpuResource: 'nvidia.com/gpu',
  engineDownloads: false,
  startupTimeoutMs: 30 * 60_000,
  unpublished: undefined,
  acceptance: undefined,
  storage: undefined,
  selector: 'berth.dev/deployment=qwen',
  url: 'http://qwen--team-a.example/v1',
  registrationId: 7,
  sidecarVersion: '1.0.0',
  operatorVersion: '1.0.0',
  isSidecarOutdated: false,
  isWithoutParsers: false,
  isSidecarRolled: false,
  staleSettings: [],
  now: NOW,
  ...change,
});
