/** Who has a role in a namespace, and what changed there; read as the user (decision 0294). */
import { apiKeyResource } from '../../../api/api-key.ts';
import { API_VERSION } from '../../../api/kubernetes-types.ts';
import { modelDeploymentResource } from '../../../api/model-deployment.ts';
import { storageCredentialResource } from '../../../api/storage-credential.ts';
import { webhookEndpointResource } from '../../../api/webhook-endpoint.ts';
import type { NoteView } from '../../api.ts';
import { routes } from '../../routes.ts';
import { KubernetesError } from '../kubernetes/error.ts';
import { describeChanges } from '../views/change.ts';
import { describeNote } from '../views/event.ts';
import { describeMembers } from '../views/member.ts';
import type { ServeRoute } from './served-route.ts';
import type { Services } from './services.ts';

const RESOURCES = [
  modelDeploymentResource,
  apiKeyResource,
  webhookEndpointResource,
  storageCredentialResource,
];
const MAX_ENTRIES = 200;
/** Not allowed; or an API server without roles, such as that of `make run`. */
const UNREADABLE = [403, 404];

export function addMemberRoutes(serve: ServeRoute, { kubernetes }: Services): void {
  serve(routes.listMembers, async ({ session, namespace }) => {
    const { token } = session;
    try {
      const members = await kubernetes.list(token, { plural: 'rolebindings', namespace }, describeMembers);
      return { members: members.flat() };
    } catch (error) {
      if (!(error instanceof KubernetesError) || !UNREADABLE.includes(error.status)) throw error;
      return { members: null };
    }
  });

  serve(routes.listChanges, async ({ session, namespace }) => {
    const { token } = session;
    const [events, ...lists] = await Promise.all([
      readNotes(token, namespace),
      ...RESOURCES.map(async ({ plural, kind }) => {
        const changes = await kubernetes.list(token, { plural, namespace }, describeChanges);
        return changes.flat().map((change) => ({ ...change, kind }));
      }),
    ]);
    const entries = [...lists.flat(), ...(events ?? [])];
    entries.sort((one, other) => Date.parse(other.at) - Date.parse(one.at));
    return { entries: entries.slice(0, MAX_ENTRIES), hasEvents: events !== null };
  });

  /** null: the user may not read events. */
  const readNotes = (token: string, namespace: string): Promise<NoteView[] | null> =>
    kubernetes
      .list(token, { plural: 'events', namespace }, describeNote, {
        fieldSelector: `involvedObject.apiVersion=${API_VERSION}`,
      })
      .catch((error) => {
        if (error instanceof KubernetesError && UNREADABLE.includes(error.status)) return null;
        throw error;
      });
}
