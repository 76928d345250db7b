/** Sign-in with a token, and sign-out. */
import type Router from '@koa/router';
import { VERSION } from '../../../api/names.ts';
import type { SessionView, SignOutView } from '../../api.ts';
import { readBody, signInBody } from '../http/bodies.ts';
import { formatCookie, NO_COOKIE } from '../http/cookies.ts';
import { ConsoleError } from '../http/error.ts';
import { type ConsoleState, requireSession, sessionOf } from '../sessions/request-guards.ts';
import type { Session } from '../sessions/session.ts';
import { readTokenClaims } from '../sessions/token-claims.ts';
import type { Services } from './services.ts';

export function addSessionRoutes(
  router: Router<ConsoleState>,
  services: Services,
  documentationURL: string | null,
): void {
  const { sessions, namespaces, presence, signIns, issuer } = services;
  const describe = ({ user, expiresAt }: Session, names: string[]): SessionView => ({
    user,
    expiresAt: new Date(expiresAt).toISOString(),
    namespaces: names,
    version: VERSION,
    documentationURL,
    redisAwaySince: presence.awaySince === null ? null : new Date(presence.awaySince).toISOString(),
  });

  router.post('/api/session', async (ctx) => {
    signIns.admit(ctx);
    const { token, namespace } = await readBody(ctx.req, signInBody);
    const claims = readTokenClaims(token);
    const { session, names } = await signIns.complete(
      ctx,
      { token, namespace, tokenNamespace: claims.namespace, endsAt: claims.endsAt },
      new ConsoleError('invalid_token', 'Token not recognized. It may have expired.', { param: 'token' }),
    );
    ctx.body = describe(session, names);
  });

  router.get('/api/session', requireSession(sessions), async (ctx) => {
    const session = sessionOf(ctx);
    ctx.body = describe(session, await namespaces.list(session));
  });

  router.delete('/api/session', requireSession(sessions), async (ctx) => {
    const session = sessionOf(ctx);
    await sessions.end(session);
    ctx.append('set-cookie', formatCookie(ctx.state.origin, 'session', NO_COOKIE));
    const { token, oidc } = session;
    // Not awaited: the console has dropped the token.
    if (oidc?.refreshToken) issuer?.revoke(oidc.refreshToken).catch(() => {});
    const url = oidc && issuer?.describeSignOut(token, `${ctx.state.origin.origin}/`);
    if (url) ctx.body = { url } satisfies SignOutView;
    else ctx.status = 204;
  });
}
