/** `berth restart`: all replicas of a deployment as a rollout, or one within its disruption budget. */
import { describeRestart, refuseAdapter } from '../../api/restart.ts';
import { evictPod, isBudgetSpent } from '../../kube/eviction.ts';
import { BERTH_RESOURCES } from '../../operator/framework/berth-resources.ts';
import type { Invocation } from '../framework/command-line.ts';
import { Failure } from '../framework/failure.ts';
import type { Output } from '../framework/output.ts';
import type { Target } from '../framework/target.ts';
import { type Deployment, findDeployment, listPods, warnOfSource } from './deployment.ts';

export async function restart(
  target: Target,
  { positionals: [named], values }: Invocation,
  output: Output,
): Promise<void> {
  const name = named!;
  const deployment = await findDeployment(target, name);
  if (values.replica !== undefined) return restartReplica(target, deployment, values.replica, output);
  const { client, namespace } = target;
  const { patch, refusal } = describeRestart(name, deployment.spec, new Date());
  if (refusal !== undefined) throw new Failure('failed', refusal);
  warnOfSource(deployment, output);
  await client.mergePatch(BERTH_RESOURCES.ModelDeployment, { at: { namespace, name }, patch });
  output.show(
    { name, namespace, replica: null },
    () =>
      `The replicas of ${name} are replaced in steps of rollout.maxSurge, and finish their requests first.`,
  );
}

async function restartReplica(
  target: Target,
  deployment: Deployment,
  replica: string,
  output: Output,
): Promise<void> {
  const { client, namespace } = target;
  const { name } = deployment.metadata;
  const { adapterOf } = deployment.spec;
  if (adapterOf) throw new Failure('failed', refuseAdapter(name, adapterOf));
  const pods = await listPods(target, deployment);
  const pod = pods.find(({ metadata }) => metadata.name === replica);
  const names = pods.map(({ metadata }) => metadata.name).join(', ');
  if (!pod)
    throw new Failure('not_found', `${name} has no replica ${replica}; its replicas: ${names || 'none'}`);
  await evictPod(client, pod).catch((error: unknown) => {
    if (!isBudgetSpent(error)) throw error;
    throw new Failure(
      'not_ready',
      `${replica} stays: its disruption budget lets no replica go now. Try again once all replicas are ready.`,
      { cause: error },
    );
  });
  output.show(
    { name, namespace, replica },
    () => `${replica} finishes its requests, while a new replica is created in its place.`,
  );
}
