/** Evicts pods: unlike a deletion, within their disruption budgets. */
import { KubeApiError } from './api-error.ts';
import type { CallOptions } from './call.ts';
import type { KubeClient } from './client.ts';
import type { KubeObject } from './object.ts';
import { RESOURCES } from './resource.ts';

/** Starts to delete this pod, with its own grace period. Throws KubeApiError (see `isBudgetSpent`). */
export async function evictPod(
  client: Pick<KubeClient, 'create'>,
  { metadata: { name, namespace, uid } }: Pick<KubeObject, 'metadata'>,
  call: CallOptions = {},
): Promise<void> {
  const eviction = {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name, ...(namespace !== undefined && { namespace }) },
    deleteOptions: { preconditions: { uid } },
  };
  await client.create<KubeObject>(RESOURCES.Pod, eviction, { ...call, subresource: 'eviction' });
}

/** An API server that is busy answers 429 as well. */
export const isBudgetSpent = (error: unknown): error is KubeApiError =>
  error instanceof KubeApiError && error.code === 429 && error.message.includes('disruption budget');
