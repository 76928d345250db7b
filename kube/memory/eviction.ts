/** Evicts a pod within its disruption budgets, as `kubectl drain` asks for it. */
import { isObject } from '../../kit/json.ts';
import { BUDGET_CAUSE } from '../eviction.ts';
import { controllerOf, type KubeObject } from '../object.ts';
import type { MemoryApi, Place } from './memory-api.ts';
import { StatusError, SUCCESS } from './status-error.ts';

interface BudgetSpec {
  maxUnavailable?: number | string;
  minAvailable?: number | string;
  selector?: { matchLabels?: Record<string, string> } | null;
  unhealthyPodEvictionPolicy?: 'IfHealthyBudget' | 'AlwaysAllow';
}

/** Throws StatusError 404, 409 for another uid, and 429 where a budget forbids it. */
export function evictPod(
  api: MemoryApi,
  at: Place,
  eviction: unknown,
  { dryRun }: { dryRun: boolean },
): object {
  const pod = api.get('pods', at);
  const servesNothing = ['Pending', 'Succeeded', 'Failed'].includes(
    (pod.status as { phase?: string })?.phase ?? '',
  );
  const budgets = servesNothing ? [] : api.list('poddisruptionbudgets.policy', at.namespace);
  for (const budget of budgets) {
    const refusal = explainRefusal(api, budget, pod);
    if (refusal !== undefined)
      throw new StatusError(
        429,
        'TooManyRequests',
        "Cannot evict pod as it would violate the pod's disruption budget.",
        { causes: [{ reason: BUDGET_CAUSE, field: '', message: refusal }] },
      );
  }
  const options = isObject(eviction) && isObject(eviction.deleteOptions) ? eviction.deleteOptions : {};
  const {
    preconditions,
    gracePeriodSeconds,
    dryRun: stages,
  } = options as {
    preconditions?: { uid?: string; resourceVersion?: string };
    gracePeriodSeconds?: number;
    dryRun?: string[];
  };
  api.delete('pods', at, {
    ...preconditions,
    graceSeconds: gracePeriodSeconds,
    dryRun: dryRun || (stages?.length ?? 0) > 0,
  });
  return SUCCESS;
}

/** Why a budget forbids it; undefined: it does not. */
function explainRefusal(api: MemoryApi, budget: KubeObject, pod: KubeObject): string | undefined {
  const { selector, unhealthyPodEvictionPolicy, ...limits } = (budget.spec ?? {}) as BudgetSpec;
  const isSelected = ({ metadata: { labels } }: KubeObject) =>
    // None selects nothing, an empty one everything.
    selector?.matchLabels === undefined
      ? isObject(selector)
      : Object.entries(selector.matchLabels).every(([name, value]) => labels?.[name] === value);
  if (!isSelected(pod) || pod.metadata.deletionTimestamp) return undefined;
  const isUnready = !isReady(pod);
  if (isUnready && unhealthyPodEvictionPolicy === 'AlwaysAllow') return undefined;
  const pods = api.list('pods', budget.metadata.namespace).filter(isSelected);
  const healthy = pods.filter((other) => isReady(other) && !other.metadata.deletionTimestamp).length;
  const desired = countDesired(limits, countWanted(api, pods));
  // What is not ready takes nothing from a budget that is healthy.
  if (healthy > desired || (isUnready && healthy === desired && desired > 0)) return undefined;
  return `The disruption budget ${budget.metadata.name} needs ${desired} healthy pods and has ${healthy} currently`;
}

/** How many pods their controllers want; those without one count themselves. */
function countWanted(api: MemoryApi, pods: readonly KubeObject[]): number {
  const replicas = new Map<string, number>();
  let alone = 0;
  for (const pod of pods) {
    const controller = findController(api, pod);
    if (controller) {
      const { replicas: wanted = 1 } = (controller.spec ?? {}) as { replicas?: number };
      replicas.set(controller.metadata.uid!, wanted);
    } else if (!pod.metadata.deletionTimestamp) alone++;
  }
  return [...replicas.values()].reduce((sum, count) => sum + count, alone);
}

const CONTROLLERS: Record<string, string> = {
  ReplicaSet: 'replicasets.apps',
  Deployment: 'deployments.apps',
};

/** The Deployment, or the ReplicaSet without one. */
function findController(api: MemoryApi, object: KubeObject): KubeObject | undefined {
  const owner = controllerOf(object);
  const key = owner && CONTROLLERS[owner.kind];
  const found = key && api.find(key, { namespace: object.metadata.namespace, name: owner.name });
  return found ? (findController(api, found) ?? found) : undefined;
}

/** How many must stay ready. */
function countDesired({ maxUnavailable, minAvailable = 1 }: BudgetSpec, wanted: number): number {
  if (maxUnavailable !== undefined) return Math.max(0, wanted - resolve(maxUnavailable, wanted));
  return typeof minAvailable === 'number' ? minAvailable : resolve(minAvailable, wanted);
}

function resolve(value: number | string, count: number): number {
  const percent = /^(\d+)%$/.exec(String(value))?.[1];
  return percent === undefined ? Number(value) : Math.ceil((Number(percent) / 100) * count);
}

function isReady({ status }: KubeObject): boolean {
  const { conditions = [] } = (status ?? {}) as { conditions?: { type: string; status: string }[] };
  return conditions.some(({ type, status: isTrue }) => type === 'Ready' && isTrue === 'True');
}
