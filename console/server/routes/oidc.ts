/** Sign-in by OIDC: to the issuer and back. */
import type Router from '@koa/router';
import type { Context, Middleware } from 'koa';
import type { ErrorEnvelope } from '../../../api/api-objects.ts';
import type { Logger } from '../../../kit/log.ts';
import { OIDC_CALLBACK_PATH } from '../../api.ts';
import { routes } from '../../routes.ts';
import { formatCookie, NO_COOKIE, readCookie } from '../http/cookies.ts';
import { ConsoleError, type ConsoleErrorCode } from '../http/error.ts';
import type { Issuer } from '../oidc/issuer.ts';
import { describeIssuerError, IssuerError, type IssuerErrorKind } from '../oidc/issuer-error.ts';
import type { ConsoleState } from '../sessions/request-guards.ts';
import { describeTokens } from '../sessions/token-renewal.ts';
import { openPending, PENDING_SECONDS, sealPending } from '../sign-in/pending-sign-in.ts';
import { readReturnPath } from '../sign-in/return-path.ts';
import type { ServeRoute } from './served-route.ts';
import type { Services } from './services.ts';

/** Until the page has loaded and shown it. */
const ERROR_SECONDS = 60;
/** Size limit of a cookie. */
const MAX_ERROR_LENGTH = 500;

const CODES: Record<IssuerErrorKind, ConsoleErrorCode> = {
  away: 'temporarily_unavailable',
  denied: 'permission_denied',
  rejected: 'invalid_token',
  misconfigured: 'upstream_error',
};

/** `router`: also serves the issuer's way back, which is no call of the page. */
export function addOIDCRoutes(
  serve: ServeRoute,
  router: Router<ConsoleState>,
  { issuer, signIns }: Services,
  log: Logger,
): void {
  serve(routes.readSignIn, async ({ ctx }) => {
    const error = readCookie(ctx.req, ctx.state.origin, 'sign-in-error');
    if (error !== null) ctx.append('set-cookie', formatCookie(ctx.state.origin, 'sign-in-error', NO_COOKIE));
    return {
      oidc: issuer && { name: issuer.name },
      error: error && Buffer.from(error, 'base64url').toString(),
    };
  });
  if (issuer === null) return;

  const fail = (error: unknown): never => {
    throw error instanceof IssuerError ? translateIssuerError(error, issuer, log) : error;
  };

  serve(routes.startOIDC, async ({ ctx, readBody }) => {
    signIns.admit(ctx);
    const { returnTo, namespace } = await readBody();
    const redirectURI = ctx.state.origin.origin + OIDC_CALLBACK_PATH;
    const { url, state, nonce, verifier } = await issuer.begin(redirectURI).catch(fail);
    const endsAt = Date.now() + PENDING_SECONDS * 1_000;
    const pending = { nonce, verifier, redirectURI, returnTo: readReturnPath(returnTo), namespace, endsAt };
    const cookie = { value: sealPending(pending, state), maxAgeSeconds: PENDING_SECONDS };
    ctx.append('set-cookie', formatCookie(ctx.state.origin, 'sign-in', cookie));
    return { url };
  });

  router.get(OIDC_CALLBACK_PATH, async (ctx) => {
    const state = ctx.URL.searchParams.get('state') ?? '';
    const sealed = readCookie(ctx.req, ctx.state.origin, 'sign-in');
    const pending = sealed === null ? null : openPending(sealed, state, Date.now());
    if (pending === null)
      throw new ConsoleError(
        'invalid_request_error',
        'This sign-in expired, or was started in another browser or tab. Try again.',
      );
    ctx.state.returnTo = pending.returnTo;
    // A code can be used only once.
    ctx.append('set-cookie', formatCookie(ctx.state.origin, 'sign-in', NO_COOKIE));
    signIns.admit(ctx);
    const url = new URL(pending.redirectURI);
    url.search = ctx.search;
    const tokens = await issuer.finish(url, { ...pending, state }).catch((error: unknown) => {
      signIns.noteRefusal(ctx);
      return fail(error);
    });
    const oidc = describeTokens(tokens, Date.now());
    await signIns.complete(
      ctx,
      {
        token: tokens.idToken,
        oidc,
        namespace: pending.namespace,
        tokenNamespace: null,
        endsAt: tokens.refreshToken === null ? tokens.endsAt : null,
      },
      new ConsoleError(
        'invalid_token',
        `${issuer.provider} signed you in, but the Kubernetes API server rejected the ID token. Ask a cluster administrator to configure the API server for this issuer and the client ID "${issuer.clientId}".`,
      ),
    );
    redirect(ctx, pending.returnTo);
  });
}

/** An error of the callback is shown by the sign-in page: nobody reads JSON in a browser. */
export const showSignInErrors = (): Middleware<ConsoleState> => async (ctx, next) => {
  await next();
  if (ctx.path !== OIDC_CALLBACK_PATH || ctx.status < 400) return;
  const message = (ctx.body as ErrorEnvelope).error.message.slice(0, MAX_ERROR_LENGTH);
  const cookie = { value: Buffer.from(message).toString('base64url'), maxAgeSeconds: ERROR_SECONDS };
  ctx.append('set-cookie', formatCookie(ctx.state.origin, 'sign-in-error', cookie));
  ctx.state.signInError = { status: ctx.status, message };
  redirect(ctx, ctx.state.returnTo ?? '/');
};

/** `path`: from `readReturnPath`. */
function redirect(ctx: Pick<Context, 'status' | 'body' | 'set'>, path: string): void {
  ctx.body = null;
  ctx.status = 302;
  ctx.set('location', path);
}

function translateIssuerError(error: IssuerError, issuer: Issuer, log: Logger): ConsoleError {
  const { kind, message } = error;
  if (kind === 'away' || kind === 'misconfigured') log.warn({ kind, reason: message }, 'OIDC sign-in failed');
  return new ConsoleError(CODES[kind], describeIssuerError(error, issuer.provider));
}
