/** How soon a first request leads to a pod. */
import type { V1Deployment } from '@kubernetes/client-node';
import type { Wire } from '../../../kube/object.ts';
import { RESOURCES } from '../../../kube/resource.ts';
import { keyOf, type PodWatch } from '../../support/pod-watch.ts';
import { pollUntil } from '../../support/poll.ts';
import type { ModelName } from '../operator-state.ts';
import type { Installation } from './installation.ts';

/** Milliseconds from a first request to the pod object, for each of these deployments at zero. */
export async function measureWakes(
  installation: Installation,
  pods: PodWatch,
  models: readonly ModelName[],
): Promise<number[]> {
  const times: number[] = [];
  for (const model of models) {
    const askedAt = performance.now();
    const answer = await installation.ask(model);
    await answer.text();
    if (answer.status !== 503) throw new Error(`${keyOf(model)}: ${answer.status} instead of 503`);
    times.push((await untilPod(pods, model)) - askedAt);
  }
  return times;
}

/** The creation time of the model's first existing pod. */
export async function untilPod(pods: PodWatch, model: ModelName, timeoutMs = 120_000): Promise<number> {
  await pollUntil(() => pods.present(keyOf(model)).length > 0, `a pod of ${keyOf(model)}`, timeoutMs);
  return pods.present(keyOf(model))[0]!.createdAt;
}

export async function readReplicas({ client }: Installation, model: ModelName): Promise<number> {
  const live = await client.get<Wire<V1Deployment>>(RESOURCES.Deployment, model);
  return live.spec!.replicas!;
}

const readAllReplicas = (installation: Installation, models: readonly ModelName[]): Promise<number[]> =>
  Promise.all(models.map((model) => readReplicas(installation, model)));

export const untilReplicas = (installation: Installation, models: readonly ModelName[], replicas: number) =>
  pollUntil(
    async () => (await readAllReplicas(installation, models)).every((count) => count === replicas),
    `${replicas} replicas each`,
    180_000,
  );
