/** Rolls the secret that signs a namespace's webhooks. */
import type Router from '@koa/router';
import { SIGNING_SECRET_NAME } from '../../../api/names.ts';
import { generateSigningSecret } from '../../../api/token-format.ts';
import { WORKSPACE_NAME, workspace, workspaceResource } from '../../../api/workspace.ts';
import type { RedisClient } from '../../../redis/client.ts';
import { readSigningSecret } from '../../../redis/publication/webhook-settings.ts';
import type { SigningSecretView } from '../../api.ts';
import { readBody, rollBody } from '../http/bodies.ts';
import { ConsoleError } from '../http/error.ts';
import type { Kubernetes } from '../kubernetes/client.ts';
import { KubernetesError } from '../kubernetes/error.ts';
import { type ConsoleState, sessionOf } from '../sessions/request-state.ts';
import { lookUntil } from './poll.ts';
import type { Services } from './services.ts';

/** Receivers may be given the new one within a day. */
const OVERLAP_MS = 24 * 3_600_000;
/** The operator sees a changed Secret at once, or at its next look where its watch is away. */
const EFFECT_MS = 25_000;

export function addSigningSecretRoutes(router: Router<ConsoleState>, services: Services): void {
  const { kubernetes, access, ownSecrets, redis } = services;

  router.post('/signing-secret/roll', async (ctx) => {
    const { namespace = '' } = ctx.params;
    const session = sessionOf(ctx);
    await access.require(session, namespace, 'rollSecret');
    const named = await readNamedSecret(kubernetes, session.token, namespace);
    if (named !== undefined && named !== SIGNING_SECRET_NAME)
      throw new ConsoleError(
        'conflict',
        `The Workspace uses the Secret ${named}: roll it with kubectl by changing the value of its key "secret".`,
      );
    const { keepOld } = await readBody(ctx.req, rollBody);
    const secret = generateSigningSecret();
    const published = await readPublished(redis, namespace);
    const overlapMs = keepOld ? OVERLAP_MS : 0;
    await ownSecrets.writeSigningSecret(namespace, secret, { user: session.user, overlapMs });
    const isInEffect = published === null || (await waitForAnother(redis, namespace, published));
    ctx.body = { secret, isInEffect } satisfies SigningSecretView;
  });
}

/** What deliveries are signed with, sealed; null = nothing is signed here yet, or Redis is away. */
const readPublished = (redis: RedisClient, namespace: string): Promise<string | null> =>
  readSigningSecret(redis, namespace).catch(() => null);

/** Who is shown the new secret gives it to receivers, which would refuse what is still signed with the old one. */
async function waitForAnother(redis: RedisClient, namespace: string, published: string): Promise<boolean> {
  const isAnother = (seen: string | null) => seen !== null && seen !== published;
  return (await lookUntil(() => readPublished(redis, namespace), isAnother, EFFECT_MS)).isWanted;
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
