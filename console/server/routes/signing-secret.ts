/** Rolls the secret that signs a namespace's webhooks, or those of one endpoint. */
import { generateSigningSecret } from '../../../api/identity.ts';
import { SIGNING_SECRET_NAME } from '../../../api/names.ts';
import { endpointSecretFields, type SecretFields } from '../../../api/signing-secret.ts';
import { webhookEndpoint, webhookEndpointResource } from '../../../api/webhook-endpoint.ts';
import { WORKSPACE_NAME, workspace, workspaceResource } from '../../../api/workspace.ts';
import type { RedisClient } from '../../../redis/client.ts';
import { readSigningSecret } from '../../../redis/publication/published.ts';
import type { SigningSecretView } from '../../api.ts';
import { routes } from '../../routes.ts';
import { ConsoleError } from '../http/error.ts';
import type { Kubernetes } from '../kubernetes/client.ts';
import { KubernetesError } from '../kubernetes/error.ts';
import { pollUntil } from './poll.ts';
import type { Call, ServeRoute } from './served-route.ts';
import type { Services } from './services.ts';

/** Time to update receivers. */
const OVERLAP_MS = 24 * 3_600_000;
/** The operator sees a changed Secret immediately, or at its next resync if the watch is down. */
const PUBLISH_TIMEOUT_MS = 25_000;

export function addSigningSecretRoutes(serve: ServeRoute, services: Services): void {
  const { kubernetes, access, ownSecrets, redis } = services;

  const roll = async (
    { session, namespace, readBody }: Call<typeof routes.rollSigningSecret>,
    fields?: SecretFields,
  ): Promise<SigningSecretView> => {
    const { keepOld } = await readBody();
    const secret = generateSigningSecret();
    const published = await readPublished(redis, namespace);
    const overlapMs = keepOld ? OVERLAP_MS : 0;
    const { user } = session;
    await ownSecrets.writeSigningSecret(namespace, secret, { user, overlapMs, ...(fields && { fields }) });
    const isInEffect = published === null || (await waitForAnother(redis, namespace, published));
    return { secret, isInEffect };
  };

  serve(routes.rollSigningSecret, async (call) => {
    const { session, namespace } = call;
    await access.require(session, namespace, 'rollSecret');
    const named = await readNamedSecret(kubernetes, session.token, namespace);
    if (named !== undefined && named !== SIGNING_SECRET_NAME)
      throw new ConsoleError(
        'conflict',
        `The Workspace uses the Secret ${named}. To roll it, change its key "secret" with kubectl.`,
      );
    return roll(call);
  });

  serve(routes.rollWebhookSecret, async (call) => {
    const { session, namespace, name } = call;
    await access.require(session, namespace, 'rollSecret');
    const object = await kubernetes.get(
      session.token,
      { plural: webhookEndpointResource.plural, namespace },
      name,
    );
    if (webhookEndpoint.parse(object).spec.signingSecret !== 'Own')
      throw new ConsoleError(
        'conflict',
        `Deliveries to ${name} are signed with the secret of the workspace. Roll that one, or give the endpoint a separate secret.`,
      );
    return roll(call, endpointSecretFields(name));
  });
}

/** The published signing secret, encrypted; null if there is none yet, or Redis is unavailable. */
const readPublished = (redis: RedisClient, namespace: string): Promise<string | null> =>
  readSigningSecret(redis, namespace).catch(() => null);

/** Receivers that use the new secret would reject deliveries that are still signed with the old one. */
async function waitForAnother(redis: RedisClient, namespace: string, published: string): Promise<boolean> {
  const isAnother = (seen: string | null) => seen !== null && seen !== published;
  return (await pollUntil(() => readPublished(redis, namespace), isAnother, PUBLISH_TIMEOUT_MS)).isWanted;
}

/** The Workspace is optional. */
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
