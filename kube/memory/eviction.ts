/** Evicts a pod within its disruption budgets, as `kubectl drain` asks for it. */
import { isObject } from '../../kit/json.ts';
import type { KubeObject } from '../object.ts';
import type { MemoryApi, Place } from './memory-api.ts';
import { StatusError, SUCCESS } from './status-error.ts';

interface BudgetSpec {
  maxUnavailable?: number | string;
  minAvailable?: number | string;
  selector?: { matchLabels?: Record<string, string> };
  unhealthyPodEvictionPolicy?: string;
}

/** Throws StatusError 404, 409 for another uid, and 429 where a budget forbids it. */
export function evictPod(api: MemoryApi, at: Place, eviction: unknown): object {
  const pod = api.get('pods', at);
  const isForbidden = api
    .list('poddisruptionbudgets.policy', at.namespace)
    .some((budget) => forbids(api, budget, pod));
  if (isForbidden)
    throw new StatusError(
      429,
      'TooManyRequests',
      "Cannot evict pod as it would violate the pod's disruption budget.",
    );
  const options = isObject(eviction) && isObject(eviction.deleteOptions) ? eviction.deleteOptions : {};
  const { preconditions, gracePeriodSeconds, dryRun } = options as {
    preconditions?: { uid?: string; resourceVersion?: string };
    gracePeriodSeconds?: number;
    dryRun?: unknown;
  };
  api.delete('pods', at, {
    ...preconditions,
    graceSeconds: gracePeriodSeconds,
    dryRun: dryRun !== undefined,
  });
  return SUCCESS;
}

function forbids(api: MemoryApi, budget: KubeObject, pod: KubeObject): boolean {
  const { selector, unhealthyPodEvictionPolicy, ...limits } = (budget.spec ?? {}) as BudgetSpec;
  const wanted = Object.entries(selector?.matchLabels ?? {});
  const isSelected = ({ metadata: { labels } }: KubeObject) =>
    wanted.every(([name, value]) => labels?.[name] === value);
  if (!isSelected(pod) || pod.metadata.deletionTimestamp) return false;
  if (!isReady(pod) && unhealthyPodEvictionPolicy === 'AlwaysAllow') return false;
  const pods = api
    .list('pods', budget.metadata.namespace)
    .filter((other) => isSelected(other) && !other.metadata.deletionTimestamp);
  const healthy = pods.filter(isReady).length;
  return healthy - countDesired(limits, pods.length) <= 0;
}

/** How many must stay ready of so many. */
function countDesired({ maxUnavailable, minAvailable }: BudgetSpec, count: number): number {
  if (maxUnavailable !== undefined) return count - resolve(maxUnavailable, count);
  return resolve(minAvailable ?? 1, count);
}

function resolve(value: number | string, count: number): number {
  const percent = /^(\d+)%$/.exec(String(value))?.[1];
  return percent === undefined ? Number(value) : Math.ceil((Number(percent) / 100) * count);
}

function isReady({ status }: KubeObject): boolean {
  const { conditions = [] } = (status ?? {}) as { conditions?: { type: string; status: string }[] };
  return conditions.some(({ type, status: isTrue }) => type === 'Ready' && isTrue === 'True');
}
