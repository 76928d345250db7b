/** Conditions as kstatus and `kubectl wait` read them: a transition time moves only with its status. */
import type { V1Deployment } from '@kubernetes/client-node';
import type { ConditionType } from '../../api/conditions.ts';
import type { Condition } from '../../api/kubernetes-types.ts';
import { formatTime } from '../../kube/time.ts';

/** A condition before it is added to the list: without times and generation. */
export interface Verdict {
  status: Condition['status'];
  reason: string;
  message: string;
}

export const verdict = (status: Condition['status'], reason: string, message = ''): Verdict => ({
  status,
  reason,
  message,
});

/** Verdict of every spec that is applied. */
export const ACCEPTED = verdict('True', 'Accepted', 'spec accepted');

/** Reason of `Fits` while hub or front does not respond. */
export const NOT_LOOKED_UP = 'NotLookedUp';

const MAX_MESSAGE = 2_000;

export interface Stamp {
  generation: number;
  /** Unix milliseconds. */
  now: number;
}

/** Turns verdicts into conditions, keeping the transition time of those whose status did not change. */
export function mergeConditions(
  before: readonly Condition[],
  verdicts: Partial<Record<ConditionType, Verdict>>,
  { generation, now }: Stamp,
): Condition[] {
  return Object.entries(verdicts).map(([type, { status, reason, message }]) => {
    const old = before.find((condition) => condition.type === type);
    return {
      type,
      status,
      reason,
      message: message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE - 1)}…` : message,
      lastTransitionTime:
        old?.status === status && old.lastTransitionTime ? old.lastTransitionTime : formatTime(new Date(now)),
      observedGeneration: generation,
    };
  });
}

export const findCondition = (conditions: readonly Condition[], type: string): Condition | undefined =>
  conditions.find((condition) => condition.type === type);

export const findDeploymentCondition = (deployment: V1Deployment | undefined, type: string, status: string) =>
  (deployment?.status?.conditions ?? []).find(
    (condition) => condition.type === type && condition.status === status,
  );
