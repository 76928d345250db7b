/** The status of a LoRA adapter, which has no pods: derived from its base's. Pure. */
import type { ModelDeployment, ModelDeploymentStatus } from '../../api/model-deployment.ts';
import type { DeploymentSample } from '../../redis/demand/demand.ts';
import { ACCEPTED, mergeConditions, type Verdict, verdict } from './condition-list.ts';
import { evaluateRoute, type RouteFacts } from './model-deployment.ts';
import { isBlocking, isRefusal, joinMessages, type Problem } from './problem.ts';
import { stallOf } from './readiness.ts';

/** Reason of `AdapterReady`: its base does not know it. */
export const NOT_ADMITTED = 'NotAccepted';

/** Whether the base serves it: once it was accepted, by its status, which a restart of the operator does not change. */
export const isAdmitted = ({ status }: Pick<ModelDeployment, 'status'>): boolean =>
  status.conditions.some(({ type, reason }) => type === 'AdapterReady' && reason !== NOT_ADMITTED);

export interface AdapterFacts extends RouteFacts {
  /** Pods that the base wants, and those that are ready. */
  desiredPods: number;
  readyPods: number;
  /** Undefined while Redis is unavailable. */
  replicas: DeploymentSample['replicas'] | undefined;
  /** By its own spec, or by its base's. */
  isPaused: boolean;
  registrationId: number;
  now: number;
}

export function deriveAdapterStatus(adapter: ModelDeployment, facts: AdapterFacts): ModelDeploymentStatus {
  const { metadata, spec } = adapter;
  const refusals = facts.problems.filter(isRefusal);
  const accepted =
    refusals.length === 0 ? ACCEPTED : verdict('False', refusals[0]!.reason, joinMessages(refusals));
  const loaded = evaluateLoading(adapter, facts);
  const route = evaluateRoute(adapter, facts);
  const { phase, ready } = decideReadiness(facts, { accepted, loaded, route });
  const status: ModelDeploymentStatus = {
    observedGeneration: metadata.generation,
    phase,
    readyReplicas: countReady(facts.replicas),
    desiredReplicas: facts.desiredPods,
    registrationId: facts.registrationId,
    conditions: mergeConditions(
      adapter.status.conditions,
      {
        Ready: ready,
        Available:
          loaded.status === 'True'
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

const countReady = (replicas: AdapterFacts['replicas']): number =>
  (replicas ?? []).filter(({ ready, draining }) => ready && !draining).length;

function evaluateLoading(adapter: ModelDeployment, { problems, readyPods, replicas }: AdapterFacts): Verdict {
  const base = adapter.spec.adapterOf!.deployment;
  if (problems.some(isBlocking) && !isAdmitted(adapter))
    return verdict('False', NOT_ADMITTED, `${base} does not serve it: ${joinMessages(problems)}`);
  if (!replicas) return verdict('Unknown', 'NotReported', 'Redis is unavailable');
  const ready = countReady(replicas);
  const words = replicas.find(({ adapterError }) => adapterError)?.adapterError;
  const failure = words === undefined ? '' : `; an engine says: ${words}`;
  if (ready > 0)
    return verdict(
      'True',
      'Loaded',
      `${ready} of ${replicas.length} replicas of ${base} have loaded it${failure}`,
    );
  if (words !== undefined) return verdict('False', 'LoadFailed', words);
  if (readyPods === 0) return verdict('False', 'BaseNotReady', `no replica of ${base} is ready`);
  return verdict('False', 'Loading', `waiting for the engines of ${base} to load it`);
}

function decideReadiness(
  { isPaused }: AdapterFacts,
  { accepted, loaded, route }: Record<'accepted' | 'loaded' | 'route', Verdict>,
): { phase: string; ready: Verdict } {
  const not = (phase: string, { reason, message }: Problem) => ({
    phase,
    ready: verdict('False', reason, message),
  });
  if (accepted.status === 'False') return not('Invalid', accepted);
  if (isPaused) return { phase: 'Paused', ready: verdict('True', 'Paused', 'spec.paused is true') };
  if (loaded.reason === 'LoadFailed') return not('Failed', loaded);
  if (loaded.status !== 'True') return not('Starting', loaded);
  if (route.status !== 'True') return not('Unrouted', route);
  return { phase: 'Ready', ready: verdict('True', 'Ready', loaded.message) };
}
