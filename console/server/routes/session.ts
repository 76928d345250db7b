/** Sign-in with a token, and sign-out. */
import { VERSION } from '../../../api/names.ts';
import type { SessionView } from '../../api.ts';
import { routes } from '../../routes.ts';
import { formatCookie, NO_COOKIE } from '../http/cookies.ts';
import { ConsoleError } from '../http/error.ts';
import type { Session } from '../sessions/session.ts';
import { readTokenClaims } from '../sessions/token-claims.ts';
import type { ServeRoute } from './served-route.ts';
import type { Services } from './services.ts';

export function addSessionRoutes(
  serve: ServeRoute,
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

  serve(routes.signIn, async ({ ctx, readBody }) => {
    signIns.admit(ctx);
    const { token, namespace } = await readBody();
    const claims = readTokenClaims(token);
    const { session, names } = await signIns.complete(
      ctx,
      { token, namespace, tokenNamespace: claims.namespace, endsAt: claims.endsAt },
      new ConsoleError('invalid_token', 'Token not recognized. It may have expired.', { param: 'token' }),
    );
    return describe(session, names);
  });

  serve(routes.readSession, async ({ session }) => describe(session, await namespaces.list(session)));

  serve(routes.signOut, async ({ ctx, session }) => {
    await sessions.end(session);
    ctx.append('set-cookie', formatCookie(ctx.state.origin, 'session', NO_COOKIE));
    const { token, oidc } = session;
    // Not awaited: the console has dropped the token.
    if (oidc?.refreshToken) issuer?.revoke(oidc.refreshToken).catch(() => {});
    const url = oidc && issuer?.describeSignOut(token, `${ctx.state.origin.origin}/`);
    return url ? { url } : undefined;
  });
}
