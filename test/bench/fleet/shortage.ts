/** A shortage: far fewer GPUs than are wanted. */
import type { KubeObject } from '../../../kube/object.ts';
import { BERTH_RESOURCES } from '../../../operator/framework/berth-resources.ts';
import { keyOf, type PodWatch } from '../../support/pod-watch.ts';
import { pollUntil } from '../../support/poll.ts';
import type { ModelName } from '../operator-state.ts';
import { holdRequests } from './gateways.ts';
import type { Installation } from './installation.ts';
import { pause } from './rest.ts';

interface Condition {
  type: string;
  reason: string;
  message: string;
}

export interface ShortageFigures {
  placed: number;
  /** Pods without a GPU, this long after the third pod got one. */
  pending: { seconds: number; pending: number }[];
  /** Milliseconds from the end of another deployment's pod to the one that has its GPU. */
  takenMs: number;
  condition: string;
}

/** Ten replicas are wanted, three GPUs are free, and `other` uses a fourth, which it releases after a while. */
export async function measureShortage(
  installation: Installation,
  pods: PodWatch,
  { model, other }: { model: ModelName; other: ModelName },
): Promise<ShortageFigures> {
  const { client } = installation;
  const listPlaced = ({ namespace, name }: ModelName) =>
    pods.present(keyOf({ namespace, name })).filter(({ placedAt }) => placedAt !== undefined);
  await pollUntil(() => listPlaced(other).length === 1, 'the other deployment to have its GPU', 120_000);
  const [leaving] = listPlaced(other);
  const demand = holdRequests(installation.redis.redis, model, 160);
  try {
    const countPending = () =>
      pods.present(keyOf(model)).filter(({ placedAt, leavingAt }) => !placedAt && !leavingAt).length;
    await pollUntil(() => listPlaced(model).length === 3, 'three pods with a GPU', 120_000);
    const since = performance.now();
    const pending: ShortageFigures['pending'] = [];
    for (const seconds of [10, 60, 120, 140, 160]) {
      await pause(since + seconds * 1_000 - performance.now());
      pending.push({ seconds, pending: countPending() });
    }
    const live = await client.get<KubeObject & { status?: { conditions?: Condition[] } }>(
      BERTH_RESOURCES.ModelDeployment,
      model,
    );
    const short = live.status?.conditions?.find(({ type }) => type === 'GPUsAvailable');
    const patch = { spec: { replicas: 0 } };
    await client.mergePatch(BERTH_RESOURCES.ModelDeployment, { at: other, patch });
    await pollUntil(() => listPlaced(model).length === 4, 'a pod on the GPU that was freed', 60_000);
    const takenAt = Math.max(...listPlaced(model).map(({ placedAt }) => placedAt!));
    const takenMs = takenAt - (leaving!.goneAt ?? leaving!.leavingAt!);
    const placed = listPlaced(model).length;
    return { placed, pending, takenMs, condition: `${short?.reason}: ${short?.message}` };
  } finally {
    demand.stop();
  }
}
