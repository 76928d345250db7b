/** What became of the Job that downloads an adapter. */
import type { V1Job, V1Pod } from '@kubernetes/client-node';
import { ANNOTATIONS } from '../../api/names.ts';
import type { KubeClient } from '../../kube/client.ts';
import { controllerOf, type KubeObject, type Wire } from '../../kube/object.ts';
import { RESOURCES } from '../../kube/resource.ts';
import type { Download } from '../status/adapter.ts';

/** `found`: as last seen; `job`: as it is wanted. `Missing`: it was refused or deleted, or not seen yet. */
export async function readDownload(
  client: Pick<KubeClient, 'list'>,
  found: Wire<V1Job> | undefined,
  job: KubeObject,
  signal: AbortSignal,
): Promise<Download | 'Missing' | 'Done'> {
  const { name, namespace, annotations } = job.metadata;
  if (!found || controllerOf(found)?.uid !== controllerOf(job)?.uid) return 'Missing';
  const wanted = annotations?.[ANNOTATIONS.prefetched];
  // That of an earlier source, which is being deleted.
  if (found.metadata.annotations?.[ANNOTATIONS.prefetched] !== wanted) return { job: name };
  const { succeeded = 0, ready = 0, active = 0 } = found.status ?? {};
  if (succeeded > 0) return 'Done';
  // It works.
  if (ready > 0 || active === 0) return { job: name };
  const labelSelector = `batch.kubernetes.io/job-name=${name}`;
  const { items } = await client.list<Wire<V1Pod>>(RESOURCES.Pod, {
    namespace: namespace!,
    labelSelector,
    signal,
  });
  const failure = items.flatMap(readFailure).at(-1);
  return { job: name, ...(failure !== undefined && { failure }) };
}

/** The last words of its container, as the loader wrote them, or why it cannot begin, such as a folder that cannot be made. */
function readFailure({ status }: Wire<V1Pod>): string[] {
  return (status?.containerStatuses ?? []).flatMap(({ state, lastState }) => {
    const ended = state?.terminated ?? lastState?.terminated;
    if (ended && ended.exitCode !== 0) return [ended.message?.trim() || `exit code ${ended.exitCode}`];
    return state?.waiting?.message ? [state.waiting.message] : [];
  });
}
