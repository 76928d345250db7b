/**
 * Pods that are deleted before their engine has answered: the time to finish requests and videos is of no use to them. They
 * might use all of it, since the kernel drops a signal that the first process of a container does not handle yet. A shorter
 * time has no effect once the kubelet stops their containers (https://github.com/kubernetes/kubernetes/issues/127339).
 */
import type { V1Pod } from '@kubernetes/client-node';
import { CONTAINERS } from '../../api/names.ts';
import { isNotFound } from '../../kube/api-error.ts';
import { RESOURCES } from '../../kube/resource.ts';
import { BY_MODEL } from '../framework/cluster-view.ts';
import { ENDING_MS } from '../resources/gateway-container.ts';
import type { ModelContext } from './context.ts';

const ENDING_SECONDS = ENDING_MS / 1_000;

const hasServed = ({ status }: V1Pod): boolean => {
  const engine = status?.containerStatuses?.find(({ name }) => name === CONTAINERS.engine);
  if (!engine) return false;
  const { started, restartCount, state, lastState } = engine;
  return started === true || restartCount > 0 || Boolean(state?.terminated ?? lastState?.terminated);
};

/** Pods whose time to end is to be shortened. */
export const listUnserved = (pods: readonly V1Pod[]): V1Pod[] =>
  pods.filter((pod) => (pod.metadata?.deletionGracePeriodSeconds ?? 0) > ENDING_SECONDS && !hasServed(pod));

/** Leaves them only the time to end. */
export async function hurryUnserved(
  { client, view, log }: Pick<ModelContext, 'client' | 'view' | 'log'>,
  key: string,
  signal: AbortSignal,
): Promise<void> {
  const pods = listUnserved(view.pods.byIndex(BY_MODEL, key) as unknown as V1Pod[]);
  for (const { metadata } of pods) {
    const { name, namespace, uid } = metadata!;
    const options = { uid: uid!, graceSeconds: ENDING_SECONDS, signal };
    await client
      .delete(RESOURCES.Pod, { name: name!, namespace: namespace! }, options)
      .catch((error: unknown) => {
        // The pod ends by itself, only later.
        if (!isNotFound(error)) log.warn({ err: error, key }, 'a pod keeps its grace period');
      });
  }
}
