/** Checks of host, CSRF and session. */

import type { RouterContext } from '@koa/router';
import type { DefaultContext, Middleware } from 'koa';
import { CSRF_HEADER } from '../../api.ts';
import { readCookie } from '../http/cookies.ts';
import { ConsoleError } from '../http/error.ts';
import { type HostSettings, isOwnHost, type RequestOrigin } from '../http/request-origin.ts';
import type { Session } from './session.ts';
import type { Sessions } from './sessions.ts';

const READS = ['GET', 'HEAD', 'OPTIONS'];

/** See `takesAnyHost`. */
export const refuseOtherHosts =
  (settings: HostSettings): Middleware<ConsoleState> =>
  async (ctx, next) => {
    const host = ctx.get('host').toLowerCase();
    if (!isOwnHost(host, settings))
      throw new ConsoleError(
        'unknown_host',
        `This console is available only on its own machine. Open it as localhost or 127.0.0.1, not as "${host}".`,
      );
    await next();
  };

/** Writes need a header that other sites cannot send. */
export const refuseForgeries = (): Middleware<ConsoleState> => async (ctx, next) => {
  if (!READS.includes(ctx.method)) {
    const { origin } = ctx.state.origin;
    if (ctx.get('origin') !== origin)
      throw new ConsoleError(
        'forged_request',
        `Writes are accepted only from the console's own page at ${origin}.`,
      );
    if (ctx.get(CSRF_HEADER) === '')
      throw new ConsoleError('forged_request', `The header ${CSRF_HEADER} is missing.`);
  }
  await next();
};

/** Throws not_signed_in. */
export async function requireSession(ctx: ApiContext, sessions: Sessions): Promise<void> {
  const id = readCookie(ctx.req, ctx.state.origin, 'session');
  const session = id === null ? null : await sessions.find(id);
  if (session === null) throw new ConsoleError('not_signed_in', 'Not signed in, or the session has expired.');
  ctx.state.session = session;
}

/** The state of a request in the middleware chain. */
export interface ConsoleState {
  requestId: string;
  origin: RequestOrigin;
  /** Behind `requireSession`, and after a sign-in. */
  session?: Session;
  /** Set for a sign-in by OIDC: the page to which the browser returns. */
  returnTo?: string;
  /** An error that was not sent, since the browser was redirected to the page. */
  signInError?: { status: number; message: string };
}

export type ApiContext = RouterContext<ConsoleState, DefaultContext>;
