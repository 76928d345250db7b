/** Rolls the secret that signs a namespace's webhooks. */
import type Router from '@koa/router';
import { SIGNING_SECRET_NAME } from '../../../contract/names.ts';
import { makeSigningSecret } from '../../../contract/secret-texts.ts';
import { WORKSPACE_NAME, workspace, workspaceResource } from '../../../contract/workspace.ts';
import type { SigningSecretView } from '../../api.ts';
import { ConsoleError } from '../error.ts';
import type { Kubernetes } from '../kubernetes.ts';
import { KubernetesError } from '../kubernetes-error.ts';
import type { Services } from '../services.ts';
import { type ConsoleState, sessionOf } from '../state.ts';

export function addSigningSecretRoutes(router: Router<ConsoleState>, services: Services): void {
  const { kubernetes, access, ownSecrets } = services;

  router.post('/signing-secret/roll', async (ctx) => {
    const { namespace = '' } = ctx.params;
    const session = sessionOf(ctx);
    await access.require(session, namespace, 'rollSecret');
    const named = await readNamedSecret(kubernetes, session.token, namespace);
    if (named !== undefined && named !== SIGNING_SECRET_NAME)
      throw new ConsoleError(
        'conflict',
        `The Workspace names the Secret ${named}: its owner rolls it with kubectl, by writing another value to its key "secret".`,
      );
    const secret = makeSigningSecret();
    await ownSecrets.writeSigningSecret(namespace, secret, session.user);
    ctx.body = { secret } satisfies SigningSecretView;
  });
}

/** A namespace needs no Workspace. */
async function readNamedSecret(
  kubernetes: Kubernetes,
  token: string,
  namespace: string,
): Promise<string | undefined> {
  try {
    const object = await kubernetes.get(
      token,
      { plural: workspaceResource.plural, namespace },
      WORKSPACE_NAME,
    );
    return workspace.parse(object).spec.signingSecret;
  } catch (error) {
    if (error instanceof KubernetesError && error.status === 404) return undefined;
    throw error;
  }
}
