/** Why a pod does not serve yet, from its own status: one finding per stage, in the order of a pod's life. */
import type { V1ContainerState, V1ContainerStatus, V1Pod } from '@kubernetes/client-node';
import { CONTAINERS } from '../../api/names.ts';
import { toMillis } from '../../kube/time.ts';
import { findCause, findLastLine, truncateText } from './crash-cause.ts';
import {
  type Finding,
  findUnschedulable,
  type InspectedDeployment,
  type Unschedulable,
} from './placement.ts';

export interface PodFindings {
  /** The same for all pods of one template. */
  template: string | undefined;
  ready: boolean;
  terminating: boolean;
  /** Unix milliseconds by which a terminating pod is gone. */
  goneBy: number;
  scheduled: boolean;
  /** Set if no node fits or none is looked for. */
  unschedulable?: Unschedulable | undefined;
  /** An image that cannot be pulled. */
  image?: Finding;
  imagesPulled: boolean;
  /** An init container that failed. */
  init?: Finding;
  /** Names of init containers that have not ended yet. */
  loading: string[];
  /** The engine, or the gateway beside it, crashed or cannot be started. */
  engine?: Finding;
  /** One of these that does not pass by itself: an image with a malformed name, an engine that crashes again and again. */
  stall?: Finding;
  /** It has been healthy once since its container started. */
  engineStarted: boolean;
  engineRunningSince?: number;
  /** Unix milliseconds. The engine has served and still runs, but its pod is no longer ready. */
  engineUnhealthySince?: number;
  createdAt: number;
}

const IMAGE_REASONS = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'ErrImageNeverPull',
  'ImageInspectError',
  'RegistryUnavailable',
  'SignatureValidationFailed',
]);
const START_REASONS = new Set([
  'CreateContainerConfigError',
  'CreateContainerError',
  // From the node of `make run`.
  'EngineNotInstalled',
  'RunContainerError',
  'StartError',
  'PostStartHookError',
]);
/** An engine may crash while something that it needs is not there yet; the kubelet's pauses before these take 70 s together. */
const MIN_LOOP_RESTARTS = 3;

const hasOneOf = (pod: V1Pod, types: readonly string[]): boolean =>
  pod.metadata?.deletionTimestamp === undefined &&
  (pod.status?.conditions ?? []).some(({ type, status }) => types.includes(type) && status === 'True');

export const isReady = (pod: V1Pod): boolean => hasOneOf(pod, ['Ready']);

/**
 * Whether it may be tried: the node controller resets only `Ready` of the pods on a node that it has
 * lost contact with. After an outage of the API server that is every node, and all pods still serve.
 */
export const isServing = (pod: V1Pod): boolean => hasOneOf(pod, ['Ready', 'ContainersReady']);

export function inspectPod(pod: V1Pod, deployment: InspectedDeployment): PodFindings {
  const init = pod.status?.initContainerStatuses ?? [];
  const main = pod.status?.containerStatuses ?? [];
  const engine = main.find(({ name }) => name === CONTAINERS.engine);
  const gateway = init.find(({ name }) => name === CONTAINERS.gateway);
  const loaders = init.filter(({ name }) => name !== CONTAINERS.gateway);
  const image = findImageProblem(pod, [...init, ...main]);
  const crash = engine && findFailure(engine, 'engine', 'EngineCrashed');
  return {
    template: pod.metadata?.labels?.['pod-template-hash'],
    ready: isReady(pod),
    terminating: pod.metadata?.deletionTimestamp !== undefined,
    goneBy: toMillis(pod.metadata?.deletionTimestamp),
    scheduled: pod.spec?.nodeName !== undefined,
    unschedulable: findUnschedulable(pod, deployment),
    image,
    imagesPulled:
      main.length > 0 && [...init, ...main].every(({ imageID, image }) => (imageID || '') !== '' || !image),
    init: firstOf(loaders, (status) =>
      findFailure(status, `init container ${status.name}`, 'InitContainerFailed'),
    ),
    // Third-party sidecars are init containers that never end: the engine runs once all others have.
    loading: engine && hasRun(engine) ? [] : listLoading(pod, loaders),
    engine: crash ?? (gateway && findFailure(gateway, 'gateway', 'GatewayCrashed')) ?? findEviction(pod),
    stall: image?.reason === 'InvalidImageName' ? image : engine && isLooping(engine) ? crash : undefined,
    engineStarted: engine?.started === true,
    engineRunningSince: engine?.state?.running ? toMillis(engine.state.running.startedAt) : undefined,
    engineUnhealthySince: engine && findUnhealthySince(pod, engine),
    createdAt: toMillis(pod.metadata?.creationTimestamp),
  };
}

/** While the kubelet pauses: during the next attempt, the engine may succeed. */
const isLooping = ({ state, restartCount }: V1ContainerStatus): boolean =>
  state?.waiting?.reason === 'CrashLoopBackOff' && (restartCount ?? 0) >= MIN_LOOP_RESTARTS;

/** `started`: its startup probe has succeeded. The pod is ready a moment later; until then it is only starting. */
function findUnhealthySince(pod: V1Pod, { started, state }: V1ContainerStatus): number | undefined {
  if (isReady(pod) || started !== true || !state?.running) return undefined;
  const ready = (pod.status?.conditions ?? []).find(({ type }) => type === 'Ready');
  const since = toMillis(ready?.lastTransitionTime);
  return since > toMillis(state.running.startedAt) ? since : undefined;
}

const hasRun = ({ state }: V1ContainerStatus): boolean =>
  state?.running !== undefined ||
  state?.terminated !== undefined ||
  state?.waiting?.reason === 'CrashLoopBackOff';

/** Also from the spec: a kubelet that has just received the pod reports no container yet. */
function listLoading(pod: V1Pod, loaders: V1ContainerStatus[]): string[] {
  const ended = loaders.filter(({ state }) => state?.terminated?.exitCode === 0).map(({ name }) => name);
  const wanted = (pod.spec?.initContainers ?? []).map(({ name }) => name);
  const all = new Set([...wanted, ...loaders.map(({ name }) => name)]);
  return [...all].filter((name) => name !== CONTAINERS.gateway && !ended.includes(name));
}

function findImageProblem(pod: V1Pod, statuses: V1ContainerStatus[]): Finding | undefined {
  return firstOf(statuses, ({ name, image, state }) => {
    const reason = state?.waiting?.reason ?? '';
    if (!IMAGE_REASONS.has(reason)) return undefined;
    const wanted = imageOf(pod, name) ?? image;
    const detail = (state?.waiting?.message ?? '').trim();
    return {
      reason,
      message: truncateText(`${name} image ${wanted} cannot be pulled${detail && `: ${detail}`}`),
    };
  });
}

const imageOf = (pod: V1Pod, container: string): string | undefined =>
  [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])].find(
    ({ name }) => name === container,
  )?.image;

/** A container that cannot be started, crash-loops, or came back after a crash and is not ready yet. */
function findFailure(status: V1ContainerStatus, who: string, crashed: string): Finding | undefined {
  const waiting = status.state?.waiting;
  if (waiting && START_REASONS.has(waiting.reason ?? ''))
    return {
      reason: waiting.reason!,
      message: `${who} could not be started: ${waiting.message ?? waiting.reason}`,
    };
  const ended = findCrash(status);
  if (!ended) return undefined;
  const restarts = status.restartCount ?? 0;
  const loops = crashed === 'EngineCrashed' && (waiting?.reason === 'CrashLoopBackOff' || restarts > 1);
  return { reason: loops ? 'CrashLoopBackOff' : crashed, message: describeEnd(ended, who, restarts) };
}

type Ended = NonNullable<V1ContainerState['terminated']>;

/** The bad end of a container that does not serve since. A gateway serves once it has started: it is ready when its engine is. */
export const findCrash = (status: V1ContainerStatus): Ended | undefined =>
  status.ready || (status.started === true && status.name === CONTAINERS.gateway)
    ? undefined
    : findBadEnd(status);

/** Finished pods, such as evicted ones, stay behind and say nothing while others live. */
export function withoutRemains<Pod extends Pick<V1Pod, 'status'>>(pods: readonly Pod[]): readonly Pod[] {
  const living = pods.filter(({ status }) => status?.phase !== 'Failed' && status?.phase !== 'Succeeded');
  return living.length > 0 ? living : pods;
}

function findBadEnd(status: V1ContainerStatus): Ended | undefined {
  const now = status.state?.terminated;
  if (now) return now.exitCode === 0 && status.name !== CONTAINERS.engine ? undefined : now;
  return (status.restartCount ?? 0) > 0 ? status.lastState?.terminated : undefined;
}

function describeEnd(ended: Ended, who: string, restarts: number): string {
  const why = ended.reason && !['Error', 'Completed'].includes(ended.reason) ? ` (${ended.reason})` : '';
  const times = restarts > 0 ? `, ${restarts} ${restarts === 1 ? 'restart' : 'restarts'}` : '';
  return `${who} exited with code ${ended.exitCode}${why}${times}${describeLog(ended)}`;
}

/** A process that the kernel killed has not written why. */
function describeLog({ reason, message = '' }: Ended): string {
  const cause = reason === 'OOMKilled' ? null : findCause(message);
  if (cause !== null) return `: ${cause}`;
  const last = findLastLine(message);
  return last && `; last log: ${last}`;
}

/** Evicted and preempted pods stay behind with phase Failed and no container to blame. */
function findEviction(pod: V1Pod): Finding | undefined {
  if (pod.status?.phase !== 'Failed') return undefined;
  return { reason: pod.status.reason ?? 'PodFailed', message: pod.status.message ?? 'the pod failed' };
}

function firstOf<T, R>(items: T[], find: (item: T) => R | undefined): R | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}
