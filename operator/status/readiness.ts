/**
 * Whether a deployment is as its spec asks, for people and for kstatus, by which Flux, Helm and others wait: `Ready`, with
 * kstatus' own `Reconciling` and `Stalled`, which exist only while they are True (decision 0357). Pure.
 */
import type { V1Deployment, V1Pod } from '@kubernetes/client-node';
import type { ModelDeployment } from '../../api/model-deployment.ts';
import { findDeploymentCondition, type Verdict, verdict } from './condition-list.ts';
import type { PodVerdicts } from './pod-verdicts.ts';
import { isLasting, isRefusal, type Problem } from './problem.ts';

interface Facts {
  deployment: V1Deployment | undefined;
  pods: readonly V1Pod[];
  problems: readonly Problem[];
  desiredReplicas: number;
}

interface Found {
  facts: Facts;
  accepted: Verdict;
  route: Verdict;
  progressing: Verdict;
  pods: PodVerdicts;
  /** Replicas that are not leaving, and those of them that are ready. */
  count: { live: number; ready: number };
  /** `isOutdated`: replicas run, and their Deployment does not have the spec yet. `hasBegun`: some have the spec. */
  rollout: { isOutdated: boolean; hasBegun: boolean; isRolling: boolean };
}

export interface Readiness {
  phase: string;
  conditions: { Ready: Verdict; Available: Verdict; Reconciling?: Verdict; Stalled?: Verdict };
}

const OUTDATED = verdict('True', 'RollingOut', 'the Deployment does not have the change yet');

type Phrase = Problem & { phase: string };

export function evaluateReadiness(deployment: ModelDeployment, found: Found): Readiness {
  const { facts, count } = found;
  const rest = findRest(deployment, facts);
  const message = `${count.ready} of ${facts.desiredReplicas} replicas ready`;
  const available =
    count.ready > 0
      ? verdict('True', 'ReplicaReady', message)
      : verdict('False', rest?.reason ?? 'NoReplicaReady', message);
  const obstacle = findObstacle(deployment, rest, found);
  const good = rest ?? { phase: 'Ready', reason: 'Ready', message };
  const { phase, ...shown } = obstacle ?? good;
  return {
    phase,
    conditions: {
      Ready: verdict(obstacle ? 'False' : 'True', shown.reason, shown.message),
      Available: available,
      ...describeProgress(deployment, obstacle, found),
    },
  };
}

/** No replica is wanted, as the spec asks. */
function findRest({ spec }: ModelDeployment, { desiredReplicas }: Facts): Phrase | undefined {
  if (spec.paused) return { phase: 'Paused', reason: 'Paused', message: 'spec.paused is true' };
  if (desiredReplicas > 0) return undefined;
  return { phase: 'ScaledToZero', reason: 'ScaledToZero', message: 'scaled to zero replicas' };
}

/** The first obstacle for a request, and its reason. */
function findObstacle(
  { metadata }: ModelDeployment,
  rest: Phrase | undefined,
  { facts, accepted, route, progressing, pods, count }: Found,
): Phrase | undefined {
  const phrase = (phase: string, { reason, message }: Problem) => ({ phase, reason, message });
  if (metadata.deletionTimestamp !== undefined)
    return phrase('Deleting', {
      reason: 'Deleting',
      message: `${facts.pods.length} ${facts.pods.length === 1 ? 'pod' : 'pods'} left`,
    });
  const isAtRest = count.live === 0 || facts.deployment?.spec?.replicas === 0;
  const isAtWork = facts.deployment !== undefined && (rest ? isAtRest : count.ready > 0);
  const isOnlyFrozen = facts.problems.filter(isRefusal).every(({ isFrozen }) => isFrozen);
  if (accepted.status === 'False' && !(isOnlyFrozen && isAtWork)) return phrase('Invalid', accepted);
  if (rest?.phase === 'Paused') return undefined;
  if (!rest && count.ready === 0) {
    if (progressing.reason === 'ReplicaFailure') return phrase('Failed', progressing);
    return pods.obstacle ?? phrase('Starting', { reason: 'Starting', message: 'waiting for the first pod' });
  }
  return route.status === 'True' ? undefined : phrase('Unrouted', route);
}

/** kstatus' conditions: at most one of them. */
function describeProgress(
  deployment: ModelDeployment,
  obstacle: Phrase | undefined,
  found: Found,
): Pick<Readiness['conditions'], 'Reconciling' | 'Stalled'> {
  const { facts, accepted, progressing, rollout } = found;
  const refusal = facts.problems.filter(isRefusal).find(isLasting);
  if (refusal) return { Stalled: verdict('True', refusal.reason, refusal.message) };
  if (deployment.metadata.deletionTimestamp !== undefined) return {};
  if (accepted.status === 'False' && !obstacle)
    return { Reconciling: verdict('True', accepted.reason, accepted.message) };
  if (!isUnfinished(deployment, found)) return {};
  // What is known is about the former spec.
  if (rollout.isOutdated) return obstacle ? {} : { Reconciling: OUTDATED };
  const stall = facts.desiredReplicas > 0 ? findStall(obstacle, found) : undefined;
  if (stall) return { Stalled: verdict('True', stall.reason, stall.message) };
  // Ready tells of an obstacle by itself.
  return obstacle ? {} : { Reconciling: verdict('True', progressing.reason, progressing.message) };
}

/** What waiting does not end, of replicas that are wanted. */
function findStall(obstacle: Phrase | undefined, { facts, pods, rollout }: Found): Problem | undefined {
  if (rollout.hasBegun && pods.stall) return pods.stall;
  const overdue = findDeploymentCondition(facts.deployment, 'Progressing', 'False');
  // A node may be freed, added or granted at any time.
  if (overdue?.reason !== 'ProgressDeadlineExceeded' || pods.gpus.status !== 'True') return undefined;
  return { reason: overdue.reason, message: obstacle?.message ?? overdue.message ?? '' };
}

/** Replicas beyond `scaling.min` follow the demand: the spec asks for none of them. */
function isUnfinished({ spec }: ModelDeployment, { facts, count, rollout }: Found): boolean {
  const { desiredReplicas } = facts;
  const isScaled = spec.scaling !== undefined && !spec.paused && desiredReplicas > 0;
  const wanted = isScaled ? Math.max(1, Math.min(spec.scaling!.min, desiredReplicas)) : desiredReplicas;
  const isChanging = rollout.isOutdated || rollout.isRolling;
  return isChanging || count.ready < wanted || (!isScaled && count.live > desiredReplicas);
}

/** `Stalled` for an object whose spec is refused: kstatus then fails at once instead of waiting for its time-out. */
export const stallOf = (accepted: Verdict): { Stalled?: Verdict } =>
  accepted.status === 'False' && isLasting(accepted) ? { Stalled: { ...accepted, status: 'True' } } : {};
