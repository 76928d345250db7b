/** Signing in and out. */

import type { IncomingMessage } from 'node:http';
import type Router from '@koa/router';
import { GROUP, VERSION } from '../../../api/names.ts';
import type { SessionView } from '../../api.ts';
import { readBody, signInBody } from '../http/bodies.ts';
import { ConsoleError } from '../http/error.ts';
import { formatSessionCookie } from '../http/session-cookie.ts';
import type { Kubernetes } from '../kubernetes/client.ts';
import { KubernetesError } from '../kubernetes/error.ts';
import { type ConsoleState, requireSession, sessionOf } from '../sessions/request-guards.ts';
import type { Session } from '../sessions/sessions.ts';
import { SignInAttempts } from '../sessions/sign-in-attempts.ts';
import { readTokenClaims } from '../sessions/token-claims.ts';
import type { Services } from './services.ts';

export function addSessionRoutes(
  router: Router<ConsoleState>,
  services: Services,
  documentationURL: string | null,
): void {
  const { kubernetes, sessions, namespaces, metrics, presence } = services;
  const attempts = new SignInAttempts();
  const describe = ({ user, expiresAt }: Session, names: string[]): SessionView => ({
    user,
    expiresAt: new Date(expiresAt).toISOString(),
    namespaces: names,
    version: VERSION,
    documentationURL,
    redisAwaySince: presence.awaySince === null ? null : new Date(presence.awaySince).toISOString(),
  });

  /** Users without any visible namespace get no session. */
  const listOrEnd = async (session: Session, asked: string | undefined): Promise<string[]> => {
    try {
      const names = await namespaces.list(session);
      requireNamespace(names, asked, session.user);
      return names;
    } catch (error) {
      await sessions.end(session);
      throw error;
    }
  };

  router.post('/api/session', async (ctx) => {
    refusePlainHTTP(ctx.state);
    const address = describeClient(ctx.req);
    const retryAfter = attempts.waitSeconds(address);
    if (retryAfter > 0)
      throw new ConsoleError(
        'rate_limit_exceeded',
        `Too many failed sign-in attempts. Try again in ${retryAfter} s.`,
        {
          retryAfter,
        },
      );
    const { token, namespace } = await readBody(ctx.req, signInBody);
    const claims = readTokenClaims(token);
    const user = await identify(kubernetes, token, () => {
      attempts.note(address);
      metrics.countSignIn('refused');
    });
    const own = [...new Set([namespace, claims.namespace])].filter((name) => typeof name === 'string');
    const who = { token, user, own };
    const { id, session } = await sessions.begin(who, claims.endsAt);
    const names = await listOrEnd(session, namespace);
    metrics.countSignIn('ok');
    ctx.state.session = session;
    const maxAgeSeconds = Math.floor((session.expiresAt - Date.now()) / 1_000);
    ctx.append('set-cookie', formatSessionCookie(ctx.state.origin, { id, maxAgeSeconds }));
    ctx.body = describe(session, names);
  });

  router.get('/api/session', requireSession(sessions), async (ctx) => {
    const session = sessionOf(ctx);
    ctx.body = describe(session, await namespaces.list(session));
  });

  router.delete('/api/session', requireSession(sessions), async (ctx) => {
    await sessions.end(sessionOf(ctx));
    ctx.append('set-cookie', formatSessionCookie(ctx.state.origin, { id: '', maxAgeSeconds: 0 }));
    ctx.status = 204;
  });
}

/** Includes the address from the nearest proxy, so that one client cannot block the others. */
function describeClient({ socket, headers }: IncomingMessage): string {
  const forwarded = String(headers['x-forwarded-for'] ?? '')
    .split(',')
    .at(-1)!
    .trim();
  return `${socket.remoteAddress} ${forwarded}`;
}

function refusePlainHTTP({ origin }: ConsoleState): void {
  if (origin.maySignIn) return;
  throw new ConsoleError(
    'https_required',
    `The console was opened over plain HTTP, which would expose your token. Use HTTPS or kubectl port-forward, or allow plain HTTP in the installation.`,
  );
}

async function identify(kubernetes: Kubernetes, token: string, onRefusal: () => void): Promise<string> {
  try {
    return await kubernetes.readUser(token);
  } catch (error) {
    if (!(error instanceof KubernetesError) || error.status !== 401) throw error;
    onRefusal();
    throw new ConsoleError('invalid_token', 'The Kubernetes API server rejected this token.', {
      param: 'token',
    });
  }
}

/** Throws permission_denied with the reason, instead of showing an empty page. */
function requireNamespace(names: string[], asked: string | undefined, user: string): void {
  const param = 'namespace';
  const may = `User "${user}" may`;
  const what = `list modeldeployments.${GROUP} in`;
  if (asked !== undefined && !names.includes(asked))
    throw new ConsoleError('permission_denied', `${may} not ${what} the namespace "${asked}".`, { param });
  if (names.length > 0) return;
  const words = `${may} ${what} no namespace that is known here: name yours.`;
  throw new ConsoleError('permission_denied', words, { param });
}
