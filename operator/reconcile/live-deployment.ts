/** The Deployment of a ModelDeployment, with the template that it is to keep. */
import type { V1Deployment } from '@kubernetes/client-node';
import { RESOURCES } from '../../kube/resource.ts';
import type { ReconcileContext } from './context.ts';
import type { Wire } from './wire.ts';

type Sources = {
  view: { deployments: Pick<ReconcileContext['view']['deployments'], 'get'> };
  client: Pick<ReconcileContext['client'], 'find'>;
};

/**
 * As the watch has it, unless that kept a stub for want of memory: a stub lacks the template, and the deployment would take
 * the current one, which restarts its pods. Undefined where there is none.
 */
export async function findLiveDeployment(
  { view, client }: Sources,
  key: string,
  signal: AbortSignal,
): Promise<Wire<V1Deployment> | undefined> {
  const cached = view.deployments.get(key);
  if (!cached || typeof cached.spec !== 'string') return cached;
  const { name, namespace } = cached.metadata;
  return await client.find<Wire<V1Deployment>>(
    RESOURCES.Deployment,
    { name, namespace: namespace! },
    { signal },
  );
}
