/** API keys: generated here and shown once; only the hash is stored. */
import type Router from '@koa/router';
import { apiKey, apiKeyResource } from '../../../api/api-key.ts';
import { generateApiKey, hashApiKey, hintApiKey } from '../../../api/identity.ts';
import { API_VERSION } from '../../../api/kubernetes-types.ts';
import { ANNOTATIONS } from '../../../api/names.ts';
import { readKeyUsage } from '../../../redis/console/console-reads.ts';
import type { KeyUsage, NewKeyView } from '../../api.ts';
import { keyChangeBody, newKeyBody, readBody } from '../http/bodies.ts';
import { viewAs } from '../kubernetes/client.ts';
import { type ConsoleState, sessionOf } from '../sessions/request-guards.ts';
import { describeKey, hashOf } from '../views/key.ts';
import type { Services } from './services.ts';

const { plural, kind } = apiKeyResource;

export function addKeyRoutes(router: Router<ConsoleState>, services: Services): void {
  const { kubernetes, access, redis, presence } = services;

  const readUsage = async (
    namespace: string,
    sha256: string | undefined,
    mayRead: boolean,
  ): Promise<KeyUsage | null> => {
    if (!mayRead || sha256 === undefined) return null;
    return presence.read(async () => {
      const { lastUsedAt, ...used } = await readKeyUsage(redis, { namespace, sha256, now: Date.now() });
      return { ...used, lastUsedAt: lastUsedAt === null ? null : new Date(lastUsedAt).toISOString() };
    }, null);
  };

  router.get('/keys', async (ctx) => {
    const { namespace = '' } = ctx.params;
    const session = sessionOf(ctx);
    const shown = viewAs(apiKey, (key) => ({ view: describeKey(key), sha256: hashOf(key) }));
    const keys = await kubernetes.list(session.token, { plural, namespace }, shown);
    const mayRead = await access.may(session, namespace, 'readUsage');
    const views = keys.map(async ({ view, sha256 }) => ({
      ...view,
      usage: await readUsage(namespace, sha256, mayRead),
    }));
    ctx.body = (await Promise.all(views)).sort((a, b) => b.createdAt.localeCompare(a.createdAt));
  });

  router.post('/keys', async (ctx) => {
    const { namespace = '' } = ctx.params;
    const { name, ...limits } = await readBody(ctx.req, newKeyBody);
    const { token, user } = sessionOf(ctx);
    const secret = generateApiKey();
    const made = await kubernetes.create(
      token,
      { plural, namespace },
      {
        apiVersion: API_VERSION,
        kind,
        metadata: { name, namespace, annotations: { [ANNOTATIONS.createdBy]: user } },
        spec: { ...limits, sha256: hashApiKey(secret), hint: hintApiKey(secret) },
      },
    );
    ctx.status = 201;
    ctx.body = { key: describeKey(apiKey.parse(made)), secret } satisfies NewKeyView;
  });

  router.patch('/keys/:name', async (ctx) => {
    const { namespace = '', name = '' } = ctx.params;
    const session = sessionOf(ctx);
    const change = await readBody(ctx.req, keyChangeBody);
    const changed = await kubernetes.patch(session.token, { plural, namespace }, name, { spec: change });
    const key = apiKey.parse(changed);
    const mayRead = await access.may(session, namespace, 'readUsage');
    ctx.body = { ...describeKey(key), usage: await readUsage(namespace, hashOf(key), mayRead) };
  });

  router.delete('/keys/:name', async (ctx) => {
    const { namespace = '', name = '' } = ctx.params;
    await kubernetes.remove(sessionOf(ctx).token, { plural, namespace }, name);
    ctx.status = 204;
  });
}
