/** What became of the Job that downloads an adapter. */
import type { V1Job, V1Pod } from '@kubernetes/client-node';
import { ANNOTATIONS } from '../../api/names.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { KubeObject, Wire } from '../../kube/object.ts';
import { RESOURCES } from '../../kube/resource.ts';
import type { Download } from '../status/adapter.ts';

const MISSING = 'it does not exist: the API server refused it, or it was deleted';

/** Undefined once it has succeeded. `job`: as it was created. */
export async function readDownload(
  client: Pick<KubeClient, 'find' | 'list'>,
  job: KubeObject,
  signal: AbortSignal,
): Promise<(Download & { isMissing?: true }) | undefined> {
  const { name, annotations } = job.metadata;
  const namespace = job.metadata.namespace!;
  const found = await client.find<Wire<V1Job>>(RESOURCES.Job, { name, namespace }, { signal });
  if (!found) return { job: name, failure: MISSING, isMissing: true };
  const wanted = annotations?.[ANNOTATIONS.prefetched];
  // Else it is the Job of an earlier source, which is being deleted.
  const isCurrent = found.metadata.annotations?.[ANNOTATIONS.prefetched] === wanted;
  if (isCurrent && (found.status?.succeeded ?? 0) > 0) return undefined;
  const labelSelector = `batch.kubernetes.io/job-name=${name}`;
  const { items } = await client.list<Wire<V1Pod>>(RESOURCES.Pod, { namespace, labelSelector, signal });
  const failure = isCurrent ? items.flatMap(readFailure).at(-1) : undefined;
  return { job: name, ...(failure !== undefined && { failure }) };
}

/** The last words of its container, as the loader wrote them. */
function readFailure({ status }: Wire<V1Pod>): string[] {
  return (status?.containerStatuses ?? []).flatMap(({ state, lastState }) => {
    const ended = state?.terminated ?? lastState?.terminated;
    if (!ended || ended.exitCode === 0) return [];
    return [ended.message?.trim() || `exit code ${ended.exitCode}`];
  });
}
