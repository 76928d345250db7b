/** The status of a LoRA adapter, which has no pods: derived from its base's. Pure. */
import type { ModelDeployment, ModelDeploymentStatus } from '../../api/model-deployment.ts';
import type { DeploymentSample } from '../../redis/demand/demand.ts';
import { ACCEPTED, mergeConditions, type Verdict, verdict } from './condition-list.ts';
import { evaluateRoute, type RouteFacts } from './model-deployment.ts';
import { isBlocking, isRefusal, isUnservable, joinMessages, type Problem } from './problem.ts';
import { stallOf } from './readiness.ts';

/** Reason of `AdapterReady`: its base does not know it. */
export const NOT_ADMITTED = 'NotAccepted';

/** Whether the base may serve it: by its status, which a restart of the operator does not change. */
export const isAdmitted = ({ status }: Pick<ModelDeployment, 'status'>): boolean =>
  status.conditions.some(({ type, reason }) => type === 'AdapterReady' && reason !== NOT_ADMITTED);

export interface AdapterFacts extends RouteFacts {
  /** Pods that the base wants, and those that are ready. */
  desiredPods: number;
  readyPods: number;
  /** Undefined while Redis is unavailable. */
  replicas: DeploymentSample['replicas'] | undefined;
  /** The engines' name of it, with its current source. */
  engineName: string | undefined;
  /** Undefined: its files are there, or the Job that downloads them is not known. */
  download: Download | undefined;
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
  const { metadata, spec } = adapter;
  const refusals = facts.problems.filter(isRefusal);
  const accepted =
    refusals.length === 0 ? ACCEPTED : verdict('False', refusals[0]!.reason, joinMessages(refusals));
  const loaded = evaluateLoading(adapter, facts);
  const route = evaluateRoute(adapter, facts);
  const serving = listServing(facts.replicas).length;
  const { phase, ready } = decideReadiness(facts, { accepted, loaded, route });
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
        Available:
          serving > 0
            ? verdict('True', 'ReplicaReady', loaded.message)
            : verdict('False', 'NoReplicaReady', loaded.message),
        ...stallOf(accepted),
        Accepted: accepted,
        AdapterReady: loaded,
        RouteReady: route,
      },
      { generation: metadata.generation, now: facts.now },
    ),
  };
  if (facts.url !== undefined && spec.adapterOf) status.url = facts.url;
  return status;
}

/** Some may still answer with the files of an earlier source. */
const listServing = (replicas: AdapterFacts['replicas']) =>
  (replicas ?? []).filter(({ ready, draining }) => ready && !draining);

function evaluateLoading(adapter: ModelDeployment, facts: AdapterFacts): Verdict {
  const { problems, readyPods, replicas, engineName, download } = facts;
  const base = adapter.spec.adapterOf!.deployment;
  if (problems.some(isUnservable) || (problems.some(isBlocking) && !isAdmitted(adapter)))
    return verdict('False', NOT_ADMITTED, `${base} does not serve it: ${joinMessages(problems)}`);
  if (!replicas) return verdict('Unknown', 'NotReported', 'Redis is unavailable');
  const serving = listServing(replicas);
  const loaded = serving.filter((replica) => replica.adapter === engineName).length;
  const words = replicas.find(({ adapterError }) => adapterError)?.adapterError;
  const failure = words === undefined ? '' : `; an engine says: ${words}`;
  if (loaded > 0)
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
  if (words !== undefined) return not('LoadFailed', words);
  if (readyPods === 0) return not('BaseNotReady', `no replica of ${base} is ready`);
  return not('Loading', `waiting for the engines of ${base} to load it`);
}

const FAILURES: readonly string[] = ['LoadFailed', 'DownloadFailed'];

function decideReadiness(
  { isPaused, replicas }: AdapterFacts,
  { accepted, loaded, route }: Record<'accepted' | 'loaded' | 'route', Verdict>,
): { phase: string; ready: Verdict } {
  const not = (phase: string, { reason, message }: Problem) => ({
    phase,
    ready: verdict('False', reason, message),
  });
  if (accepted.status === 'False') return not('Invalid', accepted);
  if (isPaused) return { phase: 'Paused', ready: verdict('True', 'Paused', 'spec.paused is true') };
  const isServed = listServing(replicas).length > 0;
  if (FAILURES.includes(loaded.reason) && !isServed) return not('Failed', loaded);
  if (loaded.status !== 'True') return not('Starting', loaded);
  if (route.status !== 'True') return not('Unrouted', route);
  return { phase: 'Ready', ready: verdict('True', 'Ready', loaded.message) };
}
