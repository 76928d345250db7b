/** Waits for a condition of an object. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Condition } from '../../api/kubernetes-types.ts';
import { KubeApiError } from '../../kube/api-error.ts';
import type { KubeObject } from '../../kube/object.ts';
import { BERTH_RESOURCES } from '../../operator/framework/berth-resources.ts';
import type { Target } from './target.ts';

export interface AwaitedCondition {
  name: string;
  type: string;
  timeoutMs?: number;
  signal?: AbortSignal;
}

const TIMEOUT_MS = 20_000;
const INTERVAL_MS = 100;

/** An API server that is restarted, a laptop that slept: the same call may succeed a moment later. */
export const isPassing = (error: unknown): error is KubeApiError =>
  error instanceof KubeApiError && (error.code === 0 || error.code === 429 || error.code >= 500);

/** Resolves with undefined once it is true or the signal aborts, else with its message after the timeout. */
export async function waitForCondition(
  { client, namespace }: Pick<Target, 'client' | 'namespace'>,
  kind: keyof typeof BERTH_RESOURCES,
  { name, type, timeoutMs = TIMEOUT_MS, signal }: AwaitedCondition,
): Promise<string | undefined> {
  const deadline = performance.now() + timeoutMs;
  let problem = 'the operator has not seen it yet: check that it runs';
  for (;;) {
    if (signal?.aborted) return undefined;
    try {
      const { status } = await client.get<KubeObject & { status?: { conditions?: Condition[] } }>(
        BERTH_RESOURCES[kind],
        { namespace, name },
      );
      const condition = status?.conditions?.find((each) => each.type === type);
      if (condition?.status === 'True') return undefined;
      problem = condition?.message ?? problem;
    } catch (error) {
      if (!isPassing(error)) throw error;
      problem = error.message;
    }
    if (performance.now() > deadline) return problem;
    await sleep(INTERVAL_MS);
  }
}
