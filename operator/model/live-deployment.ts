/** The Deployment of a ModelDeployment, with the template to keep. */
import type { V1Deployment } from '@kubernetes/client-node';
import { isStub, type Wire } from '../../kube/object.ts';
import { RESOURCES } from '../../kube/resource.ts';
import type { ModelContext } from './context.ts';

type Sources = {
  view: { deployments: Pick<ModelContext['view']['deployments'], 'get'> };
  client: Pick<ModelContext['client'], 'find'>;
};

/**
 * From the watch, unless that kept a stub to save memory: a stub lacks the template, and the deployment would take
 * the current one, which restarts its pods. Undefined if there is none.
 */
export async function findLiveDeployment(
  { view, client }: Sources,
  key: string,
  signal: AbortSignal,
): Promise<Wire<V1Deployment> | undefined> {
  const cached = view.deployments.get(key);
  if (!cached || !isStub(cached)) return cached;
  const { name, namespace } = cached.metadata;
  return await client.find<Wire<V1Deployment>>(
    RESOURCES.Deployment,
    { name, namespace: namespace! },
    { signal },
  );
}

/** From the watch; undefined if that has none, or a stub. */
export function findWatchedDeployment(
  { view }: Pick<Sources, 'view'>,
  key: string,
): Wire<V1Deployment> | undefined {
  const cached = view.deployments.get(key);
  return cached && !isStub(cached) ? cached : undefined;
}
