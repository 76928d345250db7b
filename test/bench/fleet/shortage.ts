/** What happens where far fewer GPUs are there than are wanted. */
import type { KubeObject } from '../../../kube/object.ts';
import { BERTH_RESOURCES } from '../../../operator/framework/cluster-view.ts';
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
  /** Without a GPU, so long after the third pod had one. */
  pending: { seconds: number; pending: number }[];
  /** Milliseconds from a new GPU to the pod that has it. */
  takenMs: number;
  condition: string;
}

/** Ten replicas are wanted, three GPUs are there; after a while there is another one. */
export async function measureShortage(
  installation: Installation,
  pods: PodWatch,
  model: ModelName,
): Promise<ShortageFigures> {
  const demand = holdRequests(installation.redis.redis, model, 160);
  try {
    const countPending = () =>
      pods.present(keyOf(model)).filter(({ placedAt, leavingAt }) => !placedAt && !leavingAt).length;
    const placed = () => pods.present(keyOf(model)).filter(({ placedAt }) => placedAt !== undefined).length;
    await pollUntil(() => placed() === 3, 'three pods with a GPU', 120_000);
    const since = performance.now();
    const pending: ShortageFigures['pending'] = [];
    for (const seconds of [10, 60, 120, 140, 160]) {
      await pause(since + seconds * 1_000 - performance.now());
      pending.push({ seconds, pending: countPending() });
    }
    const live = await installation.client.get<KubeObject & { status?: { conditions?: Condition[] } }>(
      BERTH_RESOURCES.ModelDeployment,
      model,
    );
    const short = live.status?.conditions?.find(({ type }) => type === 'GPUsAvailable');
    await installation.addGPUNode(1);
    const addedAt = performance.now();
    await pollUntil(() => placed() === 4, 'a pod on the new GPU', 60_000);
    const takenMs = performance.now() - addedAt;
    return { placed: placed(), pending, takenMs, condition: `${short?.reason}: ${short?.message}` };
  } finally {
    demand.stop();
  }
}
