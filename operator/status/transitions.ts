/** Events for a change of status. */
import type { Condition } from '../../api/kubernetes-types.ts';
import type { ModelDeploymentStatus } from '../../api/model-deployment.ts';
import { findCondition } from './condition-list.ts';

export interface Transition {
  type: 'Normal' | 'Warning';
  reason: string;
  message: string;
}

/** Reasons that mean "not yet" or "as requested": no warning is due. */
const EXPECTED = new Set([
  'Loading',
  'Starting',
  'NoReplicaReady',
  'BaseNotReady',
  'Downloading',
  'WaitingForDrain',
  'Complete',
  'UpToDate',
  'Deleting',
  'MemberPaused',
  'MemberNotReady',
]);
/** Reasons of `Ready` without a replica, as the spec asks. */
const AT_REST = new Set(['Paused', 'ScaledToZero']);
/** The kubelet alternates between these while retrying: one event is enough. */
const SAME: Record<string, string> = { ImagePullBackOff: 'ErrImagePull', CrashLoopBackOff: 'EngineCrashed' };
const familyOf = (reason: string): string => SAME[reason] ?? reason;

const WATCHED = [
  'Accepted',
  'Fits',
  'GPUsAvailable',
  'ImagePulled',
  'WeightsLoaded',
  'EngineHealthy',
  'AdapterReady',
  'RouteReady',
  'StorageReady',
  'TrafficReady',
] as const;

export function describeTransitions(
  before: ModelDeploymentStatus,
  after: ModelDeploymentStatus,
): Transition[] {
  const seen = new Set<string>();
  return [
    ...describeReadiness(before, after),
    ...describeRollout(before, after),
    ...WATCHED.flatMap((type) => describeProblem(before, after, type)),
  ].filter(({ reason, message }) => {
    const key = `${reason}/${message}`;
    return !seen.has(key) && seen.add(key);
  });
}

function describeReadiness(before: ModelDeploymentStatus, after: ModelDeploymentStatus): Transition[] {
  const [old, now] = [findCondition(before.conditions, 'Ready'), findCondition(after.conditions, 'Ready')];
  if (now?.status === 'True') {
    const isNew = old?.status !== 'True' || old.reason !== now.reason;
    return isNew ? [{ type: 'Normal', reason: now.reason, message: now.message }] : [];
  }
  // From rest it starts: what goes wrong then has an event of its own.
  if (old?.status !== 'True' || AT_REST.has(old.reason)) return [];
  const isPlanned = now !== undefined && EXPECTED.has(now.reason) && now.reason !== 'Starting';
  return [
    isPlanned
      ? { type: 'Normal', reason: now.reason, message: now.message }
      : { type: 'Warning', reason: 'NotReady', message: now?.message ?? '' },
  ];
}

/** The event for replicas that the API server has accepted; `why`: unknown if the spec sets them. */
export const describeScaling = (change: { from: number; to: number }, why?: string): Transition => ({
  type: 'Normal',
  reason: 'Scaled',
  message: `scaled from ${change.from} to ${change.to} replicas${why === undefined ? '' : `: ${why}`}`,
});

function describeRollout(before: ModelDeploymentStatus, after: ModelDeploymentStatus): Transition[] {
  const [old, now] = [
    findCondition(before.conditions, 'Progressing'),
    findCondition(after.conditions, 'Progressing'),
  ];
  if (now === undefined || now.reason === old?.reason) return [];
  if (now.reason === 'RollingOut') return [{ type: 'Normal', reason: 'RollingOut', message: now.message }];
  if (old?.reason === 'RollingOut' && now.reason === 'Complete')
    return [{ type: 'Normal', reason: 'RolledOut', message: now.message }];
  return isProblem(now) ? [{ type: 'Warning', reason: now.reason, message: now.message }] : [];
}

function describeProblem(
  before: ModelDeploymentStatus,
  after: ModelDeploymentStatus,
  type: (typeof WATCHED)[number],
): Transition[] {
  const [old, now] = [findCondition(before.conditions, type), findCondition(after.conditions, type)];
  if (now === undefined || !isProblem(now)) return [];
  if (old?.status === now.status && familyOf(old.reason) === familyOf(now.reason)) return [];
  return [{ type: 'Warning', reason: now.reason, message: now.message }];
}

const isProblem = ({ status, reason }: Condition): boolean => status === 'False' && !EXPECTED.has(reason);
