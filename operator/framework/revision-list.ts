/** Lists the revisions of one deployment. */
import { MAX_REVISIONS, readRevision, revisionSelector, type SpecRevision } from '../../api/spec-revision.ts';
import type { KubeClient } from '../../kube/client.ts';
import { listInPages } from '../../kube/list-pages.ts';
import type { KubeObject } from '../../kube/object.ts';
import { RESOURCES } from '../../kube/resource.ts';

/** By their label: other controllers' revisions are never in memory. One more than are kept, so that one page has them. */
export async function listRevisions(
  client: Pick<KubeClient, 'list'>,
  { metadata: { namespace, name, uid } }: Pick<KubeObject, 'metadata'>,
  signal: AbortSignal,
): Promise<SpecRevision[]> {
  const { objects } = await listInPages(client, {
    resource: RESOURCES.ControllerRevision,
    selection: { namespace: namespace!, labelSelector: revisionSelector(name) },
    pageSize: MAX_REVISIONS + 1,
    signal,
    keep: (object) => readRevision(object, uid!),
    onPage: () => {},
  });
  return [...objects.values()];
}
