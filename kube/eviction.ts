/** Evicts pods: a deletion within their disruption budgets. */
import { KubeApiError } from './api-error.ts';
import type { CallOptions } from './call.ts';
import type { KubeClient } from './client.ts';
import type { KubeObject, ObjectMeta } from './object.ts';
import { RESOURCES } from './resource.ts';

/** The cause of a refusal for a disruption budget. An API server that is busy answers 429 as well, without it. */
export const BUDGET_CAUSE = 'DisruptionBudget';

export interface EvictedPod {
  metadata: Pick<ObjectMeta, 'name' | 'namespace' | 'uid'>;
}

/** Deletes this very pod, with its own grace period. */
export const buildEviction = ({ metadata: { name, namespace, uid } }: EvictedPod) => ({
  apiVersion: 'policy/v1',
  kind: 'Eviction',
  metadata: { name, ...(namespace !== undefined && { namespace }) },
  deleteOptions: { preconditions: { uid } },
});

/** Starts to delete a pod. Throws KubeApiError (see `isBudgetSpent`). */
export async function evictPod(
  client: Pick<KubeClient, 'create'>,
  pod: EvictedPod,
  call: CallOptions = {},
): Promise<void> {
  await client.create<KubeObject>(RESOURCES.Pod, buildEviction(pod), { ...call, subresource: 'eviction' });
}

export const isBudgetSpent = (error: unknown): boolean =>
  error instanceof KubeApiError && error.code === 429 && error.causes.includes(BUDGET_CAUSE);
