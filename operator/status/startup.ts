/** The last start of a replica, stage by stage, from its pod. Pure: a finished start is not measured again. */
import type { V1ContainerStatus, V1Pod } from '@kubernetes/client-node';
import { type ModelStartup, STARTUP_STAGES, type StartupStage } from '../../api/model-startup.ts';
import { CONTAINERS } from '../../api/names.ts';
import { formatTime, toMillis } from '../../kube/time.ts';
import { isReady } from './pod-findings.ts';

export interface StartupFacts {
  pods: readonly V1Pod[];
  /** With the load time measured in earlier starts. */
  scaling?: { loadTime?: string | undefined } | undefined;
}

/** `before`: the last reported one. */
export function describeStartup(
  { pods, scaling }: StartupFacts,
  before: ModelStartup | undefined,
): ModelStartup | undefined {
  const pod = findNewest(pods);
  if (!pod) return before;
  const { name = '', creationTimestamp } = pod.metadata!;
  // It may have been restarted since, or be temporarily not ready: that is not a start.
  if (before?.took !== undefined && before.pod === name) return before;
  const ends = findEnds(pod);
  // A start before observation began cannot be measured.
  if (before?.pod !== name && ends.Ready !== undefined && countRestarts(pod) > 0) return before;
  const createdMs = toMillis(creationTimestamp);
  const stages: ModelStartup['stages'] = [];
  let lastMs = createdMs;
  for (const stage of STARTUP_STAGES) {
    const endMs = ends[stage];
    if (endMs === undefined) continue;
    const atMs = Math.max(lastMs, endMs);
    stages.push({ stage, at: formatMillis(atMs), took: formatSeconds(atMs - lastMs) });
    lastMs = atMs;
  }
  const isOver = ends.Ready !== undefined;
  const expected = scaling?.loadTime ?? before?.took ?? before?.expected;
  return {
    pod: name,
    createdAt: formatMillis(createdMs),
    stages,
    ...(isOver
      ? { took: formatSeconds(lastMs - createdMs) }
      : { current: { stage: findCurrent(pod, ends), since: formatMillis(lastMs) } }),
    ...(expected !== undefined && { expected }),
  };
}

/** The current or last one. */
function findNewest(pods: readonly V1Pod[]): V1Pod | undefined {
  return pods
    .filter(
      ({ metadata, status }) =>
        metadata?.deletionTimestamp === undefined &&
        status?.phase !== 'Failed' &&
        status?.phase !== 'Succeeded',
    )
    .sort((a, b) => createdAt(b) - createdAt(a) || (a.metadata!.name! < b.metadata!.name! ? -1 : 1))[0];
}

const createdAt = ({ metadata }: V1Pod): number => toMillis(metadata?.creationTimestamp);

const countRestarts = (pod: V1Pod): number => findEngine(pod)?.restartCount ?? 0;

const findEngine = ({ status }: V1Pod): V1ContainerStatus | undefined =>
  status?.containerStatuses?.find(({ name }) => name === CONTAINERS.engine);

/** Unix milliseconds at which each stage was complete. */
function findEnds(pod: V1Pod): Partial<Record<StartupStage, number>> {
  const init = pod.status?.initContainerStatuses ?? [];
  const gateway = init.find(({ name }) => name === CONTAINERS.gateway);
  const loaders = init.filter(({ name }) => name !== CONTAINERS.gateway);
  const loadedMs = loaders.map(({ state }) => toMillis(state?.terminated?.finishedAt));
  const isLoaded = loaders.length > 0 && loadedMs.every((ms) => ms > 0);
  const ends: Partial<Record<StartupStage, number | undefined>> = {
    Scheduled: findTransition(pod, 'PodScheduled'),
    Prepared: toMillis(gateway?.state?.running?.startedAt) || undefined,
    WeightsLoaded: isLoaded ? Math.max(...loadedMs) : undefined,
    EngineStarted: toMillis(findEngine(pod)?.state?.running?.startedAt) || undefined,
    Ready: isReady(pod) ? findTransition(pod, 'Ready') : undefined,
  };
  return Object.fromEntries(Object.entries(ends).filter(([, end]) => end !== undefined));
}

const findTransition = ({ status }: V1Pod, type: string): number | undefined => {
  const condition = status?.conditions?.find((each) => each.type === type);
  return condition?.status === 'True' ? toMillis(condition.lastTransitionTime) || undefined : undefined;
};

/** The stage after the last complete one; weights are a stage if init containers load them. */
function findCurrent(pod: V1Pod, ends: Partial<Record<StartupStage, number>>): StartupStage {
  const next = STARTUP_STAGES.findLastIndex((stage) => ends[stage] !== undefined) + 1;
  const stage = STARTUP_STAGES[next] ?? 'Ready';
  const hasLoaders = (pod.spec?.initContainers ?? []).some(({ name }) => name !== CONTAINERS.gateway);
  return stage === 'WeightsLoaded' && !hasLoaders ? 'EngineStarted' : stage;
}

const formatMillis = (ms: number): string => formatTime(new Date(ms));

/** Kubernetes reports times in whole seconds. */
const formatSeconds = (ms: number): string => `${Math.round(ms / 1_000)}s`;
