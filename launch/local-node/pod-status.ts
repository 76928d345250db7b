/** A pod's status as the kubelet writes it. Pure. */

import type { KubeObject } from '../../kube/object.ts';
import { formatTime } from '../../kube/time.ts';
import type { Container, PodSpec } from './pod-spec.ts';

export interface ContainerStatus {
  name: string;
  state:
    | { waiting: { reason: string; message?: string } }
    | { running: { startedAt: string } }
    | { terminated: Terminated };
  lastState: { terminated?: Terminated };
  ready: boolean;
  started: boolean;
  restartCount: number;
}

export interface Terminated {
  exitCode: number;
  reason: string;
  message?: string;
  startedAt: string;
  finishedAt: string;
}

export interface PodCondition {
  type: string;
  status: string;
  lastTransitionTime: string;
  reason?: string;
}

export const waitingFor = (name: string, reason: string, message?: string): ContainerStatus => ({
  name,
  state: { waiting: { reason, ...(message ? { message } : {}) } },
  lastState: {},
  ready: false,
  started: false,
  restartCount: 0,
});

export const isPodReady = ({ status }: KubeObject): boolean =>
  ((status as { conditions?: PodCondition[] } | undefined)?.conditions ?? []).some(
    ({ type, status }) => type === 'Ready' && status === 'True',
  );

export const isSidecar = ({ restartPolicy }: Container): boolean => restartPolicy === 'Always';

export interface PodFacts {
  spec: PodSpec;
  /** By container. */
  statuses: ReadonlyMap<string, ContainerStatus>;
  ip: string;
  hostIP: string;
  startedAt: string;
  before: readonly PodCondition[];
  now: Date;
}

export function buildPodStatus({ spec, statuses, ip, hostIP, startedAt, before, now }: PodFacts): object {
  const show = (containers: readonly Container[]) =>
    containers.map(({ name, image }) => {
      const status = statuses.get(name) ?? waitingFor(name, 'PodInitializing');
      return { ...status, image, imageID: image ? `local://${image}` : '' };
    });
  const init = show(spec.initContainers ?? []);
  const main = show(spec.containers);
  const sidecars = new Set((spec.initContainers ?? []).filter(isSidecar).map(({ name }) => name));
  const initialized = init.every(({ name, state, started }) =>
    sidecars.has(name) ? started : 'terminated' in state && state.terminated.exitCode === 0,
  );
  const ready = [...init.filter(({ name }) => sidecars.has(name)), ...main].every(({ ready }) => ready);
  const condition = (type: string, isTrue: boolean): PodCondition => {
    const status = isTrue ? 'True' : 'False';
    const known = before.find((one) => one.type === type);
    const lastTransitionTime = known?.status === status ? known.lastTransitionTime : formatTime(now);
    return { type, status, lastTransitionTime };
  };
  const hasBegun = main.some(
    ({ state }) => !('waiting' in state) || state.waiting.reason === 'CrashLoopBackOff',
  );
  return {
    phase: hasBegun ? 'Running' : 'Pending',
    hostIP,
    podIP: ip,
    podIPs: [{ ip }],
    startTime: startedAt,
    qosClass: 'BestEffort',
    conditions: [
      condition('PodScheduled', true),
      condition('Initialized', initialized),
      condition('ContainersReady', ready),
      condition('Ready', ready),
    ],
    initContainerStatuses: init,
    containerStatuses: main,
  };
}
