/** The status of a ModelDeployment, derived from the cluster. */
import type { V1Deployment, V1Pod } from '@kubernetes/client-node';
import { usesDeviceClaims } from '../../api/engine-traits.ts';
import type { ModelDeployment, ModelDeploymentStatus } from '../../api/model-deployment.ts';
import {
  ACCEPTED,
  findCondition,
  findDeploymentCondition,
  mergeConditions,
  NOT_LOOKED_UP,
  type Verdict,
  verdict,
} from './condition-list.ts';
import { GATED_REASONS } from './placement.ts';
import { inspectPod, type PodFindings, withoutRemains } from './pod-findings.ts';
import { evaluateEvictions, evaluatePods, evaluateShortage } from './pod-verdicts.ts';
import { isRefusal, isRouteProblem, joinMessages, type Problem } from './problem.ts';
import { evaluateReadiness, stallOf } from './readiness.ts';
import { describeStartup } from './startup.ts';

export interface StatusFacts {
  deployment: V1Deployment | undefined;
  pods: readonly V1Pod[];
  problems: readonly Problem[];
  /** The Deployment, or its controller, does not have the spec yet: what they report is about a former one. */
  isOutdated: boolean;
  /** Replicas wanted now, after pause and scaling. */
  desiredReplicas: number;
  /** Resource name of the GPUs; empty if the deployment uses none. */
  gpuResource: string;
  /** Why Kueue holds its pods back, in Kueue's words; undefined if unknown. */
  quotaReason?: string | undefined;
  /** Other deployments' pods that drain for others. */
  draining?: readonly V1Pod[];
  /** Evictions before a pod was ready, since one was. */
  vainEvictions?: { count: number; message: string } | undefined;
  /** The engine fetches the weights itself, once it runs. */
  engineDownloads: boolean;
  /** Milliseconds an engine may take to start. */
  startupTimeoutMs: number;
  /** Set while data for the front and the gateways could not be written to Redis. */
  unpublished: string | undefined;
  /** The Gateway's verdict on the HTTPRoute; undefined if there is none. */
  acceptance: Verdict | undefined;
  /** Verdict of the spec's StorageCredential; undefined if it has none. */
  storage: Verdict | undefined;
  /** Whether the versions that its traffic names answer their shares; undefined if it names none. */
  traffic?: Verdict | undefined;
  /** Whether the model fits into its GPUs; undefined if there is no verdict, `Pending` during the lookup. */
  fit?: Verdict | 'Pending' | undefined;
  /** The autoscaler's status; undefined if the spec sets the replicas. */
  scaling?: ModelDeploymentStatus['scaling'];
  selector: string;
  url: string | undefined;
  registrationId: number;
  /** How the engine of the pod template parses the model's output; undefined if there is nothing to report. */
  engineStatus?: ModelDeploymentStatus['engine'];
  /** The engine starts without the parsers of a guessed family, which did not fit. */
  isWithoutParsers: boolean;
  /** Version of the sidecar in the pod template, and the operator's own. */
  sidecarVersion: string | undefined;
  operatorVersion: string;
  /** The operator would give the pods a different sidecar, and whether it does so automatically. */
  isSidecarOutdated: boolean;
  isSidecarRolled: boolean;
  /** Settings of the installation that differ from the pod template, by name. */
  staleSettings: readonly string[];
  now: number;
}

export function deriveStatus(deployment: ModelDeployment, facts: StatusFacts): ModelDeploymentStatus {
  const wanted = { ...facts, hasClaims: usesDeviceClaims(deployment.spec) };
  const findings = withoutRemains(facts.pods).map((pod) => inspectPod(pod, wanted));
  const live = findings.filter(({ terminating }) => !terminating);
  const ready = live.filter((pod) => pod.ready).length;
  const pods = evaluatePods(findings, wanted);
  const accepted = evaluateAccepted(facts.problems);
  const route = evaluateRoute(deployment, facts);
  const count = { live: live.length, ready };
  const rollout = evaluateRollout(facts, live);
  const isHeldBack = GATED_REASONS.includes(pods.gpus.reason);
  const progressing = evaluateProgress(facts, count, { ...rollout, isHeldBack });
  const found = { facts, accepted, route, progressing, pods, count, rollout };
  const readiness = evaluateReadiness(deployment, found);
  const stamp = { generation: deployment.metadata.generation, now: facts.now };
  const status: ModelDeploymentStatus = {
    observedGeneration: deployment.metadata.generation,
    phase: readiness.phase,
    replicas: live.length,
    readyReplicas: ready,
    updatedReplicas: facts.deployment?.status?.updatedReplicas ?? 0,
    desiredReplicas: facts.desiredReplicas,
    selector: facts.selector,
    registrationId: facts.registrationId,
    conditions: mergeConditions(
      deployment.status.conditions,
      {
        ...readiness.conditions,
        Accepted: accepted,
        Progressing: progressing,
        GPUsAvailable:
          evaluateEvictions(facts.vainEvictions, live) ?? evaluateShortage(wanted, live) ?? pods.gpus,
        ImagePulled: pods.images,
        WeightsLoaded: pods.weights,
        EngineHealthy: evaluateEngine(pods.engine, facts),
        RouteReady: route,
        ...(facts.storage && { StorageReady: facts.storage }),
        ...(facts.traffic && { TrafficReady: facts.traffic }),
        ...keepFit(deployment, facts),
        UpdateAvailable: evaluateUpdate(facts),
      },
      stamp,
    ),
  };
  if (facts.url !== undefined) status.url = facts.url;
  const startup = describeStartup(facts, deployment.status.startup);
  if (startup) status.startup = startup;
  if (facts.scaling !== undefined) status.scaling = facts.scaling;
  if (facts.engineStatus !== undefined) status.engine = facts.engineStatus;
  if (facts.sidecarVersion !== undefined) status.sidecarVersion = facts.sidecarVersion;
  return status;
}

/** An engine that serves less than its model can. */
function evaluateEngine(engine: Verdict, { isWithoutParsers, engineStatus }: StatusFacts): Verdict {
  if (engine.status !== 'True' || !isWithoutParsers) return engine;
  return verdict('True', 'StartedWithoutParsers', engineStatus?.message);
}

/** The verdict on the same spec stands while it is looked up again, or cannot be, as after a restart. */
function keepFit({ metadata, status }: ModelDeployment, { fit }: StatusFacts): { Fits?: Verdict } {
  if (!fit) return {};
  const isOpen = fit === 'Pending' || fit.reason === NOT_LOOKED_UP;
  const before = isOpen ? findCondition(status.conditions, 'Fits') : undefined;
  if (before && before.observedGeneration === metadata.generation) return { Fits: before };
  return fit === 'Pending' ? {} : { Fits: fit };
}

/** The status of an object that its schema rejects: nothing of it is applied. */
export function deriveRefusal(
  metadata: ModelDeployment['metadata'],
  before: ModelDeploymentStatus,
  refusal: Problem & { now: number },
): ModelDeploymentStatus {
  const refused = verdict('False', refusal.reason, refusal.message);
  return {
    ...before,
    observedGeneration: metadata.generation,
    phase: 'Invalid',
    conditions: mergeConditions(
      before.conditions,
      { Ready: refused, ...stallOf(refused), Accepted: refused },
      { generation: metadata.generation, now: refusal.now },
    ),
  };
}

function evaluateAccepted(problems: readonly Problem[]): Verdict {
  const refusals = problems.filter(isRefusal);
  if (refusals.length === 0) return ACCEPTED;
  return verdict('False', refusals[0]!.reason, joinMessages(refusals));
}

export type RouteFacts = Pick<StatusFacts, 'problems' | 'unpublished' | 'acceptance' | 'url'>;

export function evaluateRoute(deployment: ModelDeployment, facts: RouteFacts): Verdict {
  const problems = facts.problems.filter(isRouteProblem);
  if (problems.length > 0) return verdict('False', problems[0]!.reason, joinMessages(problems));
  if (!deployment.spec.route.enabled)
    return verdict(
      'True',
      'RouteDisabled',
      'spec.route.enabled is false: reachable through its Service only',
    );
  if (facts.unpublished !== undefined && !wasRouted(deployment, facts))
    return verdict('Unknown', 'NotPublished', facts.unpublished);
  if (facts.acceptance !== undefined && facts.acceptance.status !== 'True') return facts.acceptance;
  return verdict('True', 'Routed', facts.url ?? '');
}

/** Published data is still served while Redis is unavailable. */
const wasRouted = ({ status }: ModelDeployment, { url }: RouteFacts): boolean =>
  status.url === url && findCondition(status.conditions, 'RouteReady')?.status === 'True';

function evaluateRollout({ deployment, isOutdated, desiredReplicas }: StatusFacts, live: PodFindings[]) {
  const { replicas = 0, updatedReplicas = 0 } = deployment?.status ?? {};
  const hasPods = live.length > 0 && deployment !== undefined;
  const expected = Math.max(replicas, Math.min(live.length, desiredReplicas));
  return {
    isOutdated: hasPods && isOutdated,
    hasBegun: updatedReplicas > 0,
    // A pod of a former spec that is left waits for its replacement to be ready.
    isRolling: hasPods && desiredReplicas > 0 && updatedReplicas < expected,
  };
}

function evaluateProgress(
  { deployment, desiredReplicas }: StatusFacts,
  { live, ready }: { live: number; ready: number },
  { isRolling, isHeldBack }: { isRolling: boolean; isHeldBack: boolean },
): Verdict {
  const failure = findDeploymentCondition(deployment, 'ReplicaFailure', 'True');
  if (failure) return verdict('False', 'ReplicaFailure', failure.message ?? '');
  const stuck = findDeploymentCondition(deployment, 'Progressing', 'False');
  // The Deployment's deadline does not know of queues.
  if (stuck && !isHeldBack)
    return verdict('False', stuck.reason ?? 'ProgressDeadlineExceeded', stuck.message ?? '');
  const settled = live === desiredReplicas && ready === desiredReplicas && !isRolling;
  if (settled)
    return verdict('False', 'Complete', `${desiredReplicas} of ${desiredReplicas} replicas up to date`);
  const updated = deployment?.status?.updatedReplicas ?? 0;
  if (isRolling) return verdict('True', 'RollingOut', `${updated} of ${desiredReplicas} replicas updated`);
  return verdict('True', 'Scaling', `${ready} of ${desiredReplicas} replicas ready`);
}

/** Settings are named without their values: a tenant reads this. */
function evaluateUpdate(facts: StatusFacts): Verdict {
  const { sidecarVersion, operatorVersion, staleSettings } = facts;
  const settings = `older settings (${staleSettings.join(', ')})`;
  if (sidecarVersion !== undefined && sidecarVersion !== operatorVersion) {
    const more = staleSettings.length > 0 ? ` with ${settings}` : '';
    return outdated('NewerSidecar', `the pods run sidecar ${sidecarVersion}${more}`, facts);
  }
  if (staleSettings.length > 0) return outdated('NewerSettings', `the pods run with ${settings}`, facts);
  if (facts.isSidecarOutdated) return outdated('NewerSidecar', 'the pods run an older sidecar', facts);
  return verdict('False', 'UpToDate', `the sidecar is at ${sidecarVersion ?? operatorVersion}`);
}

function outdated(reason: 'NewerSidecar' | 'NewerSettings', state: string, facts: StatusFacts): Verdict {
  const { operatorVersion, isSidecarRolled } = facts;
  const wanted = reason === 'NewerSettings' ? "the installation's" : operatorVersion;
  const how = isSidecarRolled
    ? `the installation updates them automatically; change rollout.revision to update now`
    : `change rollout.revision to update to ${wanted}`;
  return verdict('True', reason, `${state}; ${how}`);
}
