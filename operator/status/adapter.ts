/** The status of a LoRA adapter, which has no pods: derived from its base's. Pure. */
import type { ModelDeployment, ModelDeploymentStatus } from '../../api/model-deployment.ts';
import type { DeploymentSample } from '../../redis/demand/demand.ts';
import { ACCEPTED, findCondition, mergeConditions, type Verdict, verdict } from './condition-list.ts';
import { evaluateRoute, type RouteFacts } from './model-deployment.ts';
import { isBlocking, isRefusal, joinMessages, type Problem } from './problem.ts';
import { stallOf } from './readiness.ts';

/** Reason of `AdapterReady`: its base does not serve it. */
const NOT_ADMITTED = 'NotAccepted';

export interface AdapterFacts extends RouteFacts {
  /** Pods that the base wants, and those that are ready. */
  desiredPods: number;
  readyPods: number;
  /** By its base: what was downloaded last. */
  isServed: boolean;
  /** Undefined while Redis is unavailable. */
  replicas: DeploymentSample['replicas'] | undefined;
  /** The engines' name of what is served. */
  engineName: string | undefined;
  /** Undefined: the files of its current source are there, or are not asked for. */
  download: Download | undefined;
  downloaded: ModelDeploymentStatus['adapter'];
  /** By its own spec, or by its base's. */
  isPaused: boolean;
  registrationId: number;
  now: number;
}

/** One that has not ended. */
export interface Download {
  job: string;
  /** Why it failed last, if it did; it is tried again. */
  failure?: string;
}

export function deriveAdapterStatus(adapter: ModelDeployment, facts: AdapterFacts): ModelDeploymentStatus {
  const { metadata } = adapter;
  const refusals = facts.problems.filter(isRefusal);
  const accepted =
    refusals.length === 0 ? ACCEPTED : verdict('False', refusals[0]!.reason, joinMessages(refusals));
  const loaded = evaluateLoading(adapter, facts);
  const route = evaluateRoute(adapter, facts);
  const former = facts.replicas ? undefined : adapter.status;
  const serving = former?.readyReplicas ?? listServing(facts.replicas).length;
  const { phase, ready } = decideReadiness(facts, { accepted, loaded, route, former });
  const status: ModelDeploymentStatus = {
    observedGeneration: metadata.generation,
    phase,
    readyReplicas: serving,
    desiredReplicas: facts.desiredPods,
    registrationId: facts.registrationId,
    conditions: mergeConditions(
      adapter.status.conditions,
      {
        Ready: ready,
        // Gateways serve on without Redis.
        Available:
          findCondition(former?.conditions ?? [], 'Available') ??
          (serving > 0
            ? verdict('True', 'ReplicaReady', loaded.message)
            : verdict('False', 'NoReplicaReady', loaded.message)),
        ...stallOf(accepted),
        Accepted: accepted,
        AdapterReady: loaded,
        RouteReady: route,
      },
      { generation: metadata.generation, now: facts.now },
    ),
  };
  if (facts.url !== undefined) status.url = facts.url;
  if (facts.downloaded) status.adapter = facts.downloaded;
  return status;
}

/** Some may still answer with the files of an earlier source. */
const listServing = (replicas: AdapterFacts['replicas']) =>
  (replicas ?? []).filter(({ ready, draining }) => ready && !draining);

function evaluateLoading(adapter: ModelDeployment, facts: AdapterFacts): Verdict {
  const { problems, readyPods, isServed, replicas, engineName, download } = facts;
  const base = adapter.spec.adapterOf!.deployment;
  if (problems.some(isBlocking) && !isServed)
    return verdict('False', NOT_ADMITTED, `${base} does not serve it: ${joinMessages(problems)}`);
  if (!replicas) return verdict('Unknown', 'NotReported', 'Redis is unavailable');
  const serving = listServing(replicas);
  const loaded = serving.filter((replica) => replica.adapter === engineName).length;
  const words = replicas.find(({ draining, adapterError }) => !draining && adapterError)?.adapterError;
  const failure = words === undefined ? '' : `; an engine says: ${words}`;
  if (loaded > 0 && !download)
    return verdict(
      'True',
      'Loaded',
      `${loaded} of ${replicas.length} replicas of ${base} have loaded it${failure}`,
    );
  const meanwhile = serving.length > 0 ? '; meanwhile its earlier source is served' : '';
  const not = (reason: string, message: string) => verdict('False', reason, message + meanwhile);
  if (download?.failure !== undefined)
    return not('DownloadFailed', `Job ${download.job} failed, and tries again: ${download.failure}`);
  if (download) return not('Downloading', `Job ${download.job} is downloading it`);
  if (!isServed) return not('Loading', `${base} is about to serve it`);
  if (words !== undefined) return not('LoadFailed', words);
  if (readyPods === 0) return not('BaseNotReady', `no replica of ${base} is ready`);
  return not('Loading', `waiting for the engines of ${base} to load it`);
}

const FAILURES: readonly string[] = ['LoadFailed', 'DownloadFailed'];

function decideReadiness(
  { isPaused, replicas }: AdapterFacts,
  {
    accepted,
    loaded,
    route,
    former,
  }: Record<'accepted' | 'loaded' | 'route', Verdict> & {
    /** The status before, while nothing is known. */
    former: ModelDeploymentStatus | undefined;
  },
): { phase: string; ready: Verdict } {
  const not = (phase: string, { reason, message }: Problem) => ({
    phase,
    ready: verdict('False', reason, message),
  });
  if (accepted.status === 'False') return not('Invalid', accepted);
  if (isPaused)
    return { phase: 'Paused', ready: verdict('True', 'Paused', 'spec.paused is true, of it or of its base') };
  const ready = findCondition(former?.conditions ?? [], 'Ready');
  if (ready) return { phase: former!.phase ?? 'Starting', ready };
  const isAnswered = listServing(replicas).length > 0;
  if (FAILURES.includes(loaded.reason) && !isAnswered) return not('Failed', loaded);
  if (loaded.status !== 'True') return not('Starting', loaded);
  if (route.status !== 'True') return not('Unrouted', route);
  return { phase: 'Ready', ready: verdict('True', 'Ready', loaded.message) };
}
