/** Who has a role in a namespace, and what changed there; read as the user (decision 0294). */
import type Router from '@koa/router';
import { apiKeyResource } from '../../../api/api-key.ts';
import { API_VERSION } from '../../../api/kubernetes-types.ts';
import { modelDeploymentResource } from '../../../api/model-deployment.ts';
import { storageCredentialResource } from '../../../api/storage-credential.ts';
import { webhookEndpointResource } from '../../../api/webhook-endpoint.ts';
import type { ChangesView, MembersView, NoteView } from '../../api.ts';
import { KubernetesError } from '../kubernetes/error.ts';
import { type ConsoleState, sessionOf } from '../sessions/request-guards.ts';
import { describeChanges } from '../views/change.ts';
import { describeNote } from '../views/event.ts';
import { describeMembers } from '../views/member.ts';
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

export function addMemberRoutes(router: Router<ConsoleState>, { kubernetes }: Services): void {
  router.get('/members', async (ctx) => {
    const { namespace = '' } = ctx.params;
    const { token } = sessionOf(ctx);
    try {
      const members = await kubernetes.list(token, { plural: 'rolebindings', namespace }, describeMembers);
      ctx.body = { members: members.flat() } satisfies MembersView;
    } catch (error) {
      if (!(error instanceof KubernetesError) || !UNREADABLE.includes(error.status)) throw error;
      ctx.body = { members: null } satisfies MembersView;
    }
  });

  router.get('/changes', async (ctx) => {
    const { namespace = '' } = ctx.params;
    const { token } = sessionOf(ctx);
    const [events, ...lists] = await Promise.all([
      readNotes(token, namespace),
      ...RESOURCES.map(async ({ plural, kind }) => {
        const changes = await kubernetes.list(token, { plural, namespace }, describeChanges);
        return changes.flat().map((change) => ({ ...change, kind }));
      }),
    ]);
    const entries = [...lists.flat(), ...(events ?? [])];
    entries.sort((one, other) => Date.parse(other.at) - Date.parse(one.at));
    ctx.body = { entries: entries.slice(0, MAX_ENTRIES), hasEvents: events !== null } satisfies ChangesView;
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
