/**
 * Pods that are deleted before their engine has answered: the time to finish requests and videos is of no use to them. They
 * might use all of it, since the kernel drops a signal that the first process of a container does not handle yet.
 */
import type { V1Pod } from '@kubernetes/client-node';
import { CONTAINERS } from '../../api/names.ts';
import { isNotFound } from '../../kube/api-error.ts';
import { RESOURCES } from '../../kube/resource.ts';
import { BY_MODEL } from '../framework/cluster-view.ts';
import { ENDING_MS } from '../resources/gateway-container.ts';
import type { ModelContext } from './context.ts';

const ENDING_SECONDS = ENDING_MS / 1_000;
/** For a pod that is still there after that. A kubelet acts only on a time that is shorter than before. */
const LAST_SECONDS = 5;
/** After the time by which it should have ended. */
const OVERDUE_MS = 3_000;

const hasServed = ({ status }: V1Pod): boolean => {
  const engine = status?.containerStatuses?.find(({ name }) => name === CONTAINERS.engine);
  if (!engine) return false;
  const { started, restartCount, state, lastState } = engine;
  return started === true || restartCount > 0 || Boolean(state?.terminated ?? lastState?.terminated);
};

/** What to do about a pod: shorten its time to end, or look again later. */
type Hurry = { graceSeconds: number } | { recheckMs: number };

/** null: nothing is to be done. `now`: Unix milliseconds. */
export function decideHurry(pod: V1Pod, now: number): Hurry | null {
  const { deletionGracePeriodSeconds: grace, deletionTimestamp } = pod.metadata!;
  if (grace === undefined || deletionTimestamp === undefined || hasServed(pod)) return null;
  if (grace > ENDING_SECONDS) return { graceSeconds: ENDING_SECONDS };
  if (grace <= LAST_SECONDS) return null;
  const overdueAt = new Date(deletionTimestamp).getTime() + OVERDUE_MS;
  return now < overdueAt ? { recheckMs: overdueAt - now } : { graceSeconds: LAST_SECONDS };
}

/**
 * Leaves them only the time to end; the kubelet sends their containers the signal once more. A kubelet that was just starting a
 * container may miss that, so a pod that outlives its time is given even less. Returns when to look again, in milliseconds.
 */
export async function hurryUnserved(
  { client, view, log, now }: Pick<ModelContext, 'client' | 'view' | 'log' | 'now'>,
  key: string,
  signal: AbortSignal,
): Promise<number | undefined> {
  const rechecks: number[] = [];
  for (const pod of view.pods.byIndex(BY_MODEL, key) as unknown as V1Pod[]) {
    const hurry = decideHurry(pod, now());
    if (!hurry) continue;
    if ('recheckMs' in hurry) {
      rechecks.push(hurry.recheckMs);
      continue;
    }
    rechecks.push(hurry.graceSeconds * 1_000 + OVERDUE_MS);
    const { name, namespace, uid } = pod.metadata!;
    await client
      .delete(RESOURCES.Pod, { name: name!, namespace: namespace! }, { uid: uid!, ...hurry, signal })
      .catch((error: unknown) => {
        // The pod ends by itself, only later.
        if (!isNotFound(error)) log.warn({ err: error, key }, 'a pod keeps its grace period');
      });
  }
  return rechecks.length > 0 ? Math.min(...rechecks) : undefined;
}
