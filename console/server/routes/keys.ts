/** API keys: generated here and shown once; only the hash is stored. */
import { type APIKey, apiKey, apiKeyResource } from '../../../api/api-key.ts';
import { generateApiKey, hashApiKey, hintApiKey } from '../../../api/identity.ts';
import { API_VERSION } from '../../../api/kubernetes-types.ts';
import { ANNOTATIONS } from '../../../api/names.ts';
import { readKeyUsage } from '../../../redis/console/console-reads.ts';
import type { KeyUsage, NewKeyView } from '../../api.ts';
import { type ParsedBodyOf, routes } from '../../routes.ts';
import { viewAs } from '../kubernetes/object.ts';
import type { Session } from '../sessions/session.ts';
import { describeKey, hashOf } from '../views/key.ts';
import type { ServeRoute } from './served-route.ts';
import type { Services } from './services.ts';

const { plural, kind } = apiKeyResource;
type NewKey = ParsedBodyOf<typeof routes.createKey>;
/** What bounds a key beside its limits: a rolled key keeps it. */
type Bounds = Partial<Pick<APIKey['spec'], 'owner' | 'deployments' | 'budget'>>;
/** How long a rolled key still works (decision 0310). */
const OVERLAP_MS = 24 * 3_600_000;

export function addKeyRoutes(serve: ServeRoute, services: Services): void {
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

  serve(routes.listKeys, async ({ session, namespace }) => {
    const shown = viewAs(apiKey, (key) => ({ view: describeKey(key), sha256: hashOf(key) }));
    const keys = await kubernetes.list(session.token, { plural, namespace }, shown);
    const mayRead = await access.may(session, namespace, 'readUsage');
    const views = keys.map(async ({ view, sha256 }) => ({
      ...view,
      usage: await readUsage(namespace, sha256, mayRead),
    }));
    return (await Promise.all(views)).sort((a, b) => b.createdAt.localeCompare(a.createdAt));
  });

  const create = async (
    session: Session,
    namespace: string,
    wanted: NewKey & Bounds,
  ): Promise<NewKeyView> => {
    const { name, ...spec } = wanted;
    const secret = generateApiKey();
    const annotations = { [ANNOTATIONS.createdBy]: session.user };
    const made = await kubernetes.create(
      session,
      { plural, namespace },
      {
        apiVersion: API_VERSION,
        kind,
        metadata: { name, namespace, annotations },
        spec: { ...spec, sha256: hashApiKey(secret), hint: hintApiKey(secret) },
      },
    );
    return { key: describeKey(apiKey.parse(made)), secret };
  };

  serve(routes.createKey, async ({ ctx, session, namespace, readBody }) => {
    const wanted = await readBody();
    ctx.status = 201;
    return create(session, namespace, wanted);
  });

  serve(routes.rollKey, async ({ ctx, session, namespace, name, readBody }) => {
    const place = { plural, namespace };
    const wanted = await readBody();
    const now = Date.now();
    const old = apiKey.parse(await kubernetes.get(session.token, place, name));
    const { rpm, tpd, priority, owner, deployments, budget } = old.spec;
    const made = await create(session, namespace, {
      name: wanted.name,
      rpm,
      tpd,
      priority,
      owner,
      deployments,
      budget,
      ...findNewExpiry(old, now),
    });
    try {
      const end = wanted.keepOld ? findOverlap(old, now) : { disabled: true };
      await kubernetes.patch(session, place, name, { spec: end });
    } catch (error) {
      // Its secret was never shown.
      await kubernetes.remove(session.token, place, wanted.name).catch(() => {});
      throw error;
    }
    ctx.status = 201;
    return made;
  });

  serve(routes.changeKey, async ({ session, namespace, name, readBody }) => {
    const change = await readBody();
    const changed = await kubernetes.patch(session, { plural, namespace }, name, { spec: change });
    const key = apiKey.parse(changed);
    const mayRead = await access.may(session, namespace, 'readUsage');
    return { ...describeKey(key), usage: await readUsage(namespace, hashOf(key), mayRead) };
  });

  serve(routes.deleteKey, async ({ session, namespace, name }) => {
    await kubernetes.remove(session.token, { plural, namespace }, name);
  });
}

/** Valid for as long as the old key was from its creation. */
function findNewExpiry({ spec, metadata }: APIKey, now: number): { expiresAt?: string } {
  if (spec.expiresAt === undefined) return {};
  const validMs = Date.parse(spec.expiresAt) - Date.parse(String(metadata.creationTimestamp));
  return { expiresAt: new Date(now + validMs).toISOString() };
}

function findOverlap({ spec }: APIKey, now: number): { expiresAt: string } {
  const end = Math.min(
    now + OVERLAP_MS,
    spec.expiresAt ? Date.parse(spec.expiresAt) : Number.POSITIVE_INFINITY,
  );
  return { expiresAt: new Date(end).toISOString() };
}
