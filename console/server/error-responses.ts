/** Converts errors to the envelope, and logs every API request. */
import { randomUUID } from 'node:crypto';
import { Stream } from 'node:stream';
import type { Context, Middleware } from 'koa';
import type { Logger } from '../../kit/log.ts';
import { isRedisAway } from '../../redis/client.ts';
import { routes } from '../routes.ts';
import { describeChange, PLAYGROUND } from './http/audit.ts';
import { formatCookie, NO_COOKIE } from './http/cookies.ts';
import { buildEnvelope, ConsoleError, REDIS_AWAY } from './http/error.ts';
import type { ConsoleMetrics } from './http/metrics.ts';
import { describeOrigin, type OriginSettings } from './http/request-origin.ts';
import { KubernetesError, translateKubernetesError } from './kubernetes/error.ts';
import type { ConsoleState } from './sessions/request-guards.ts';
import type { Sessions } from './sessions/sessions.ts';

/** Sets the request ID and origin; logs and counts the request when it ends. */
export const identifyRequest =
  (settings: OriginSettings, log: Logger, metrics: ConsoleMetrics): Middleware<ConsoleState> =>
  async (ctx, next) => {
    const startedAt = performance.now();
    const forwardedProto = ctx.get('x-forwarded-proto').split(',')[0]!.trim();
    ctx.state.requestId = randomUUID();
    ctx.state.origin = describeOrigin({ host: ctx.get('host').toLowerCase(), forwardedProto }, settings);
    ctx.set('x-request-id', ctx.state.requestId);
    await next();
    if (!ctx.path.startsWith('/api/')) return;
    const { method, path } = ctx;
    const { status, message } = ctx.state.signInError ?? { status: ctx.status, message: undefined };
    const record = () => {
      const ms = Math.round(performance.now() - startedAt);
      metrics.count({ area: readArea(path), method, status, seconds: ms / 1_000 });
      const user = ctx.state.session?.user;
      const ids = { user, request_id: ctx.state.requestId };
      log.info({ ...ids, method, path, status, ms }, 'request');
      const change = describeChange(method, path, ctx.body);
      if (change) log.info({ audit: true, ...ids, ...change, status, reason: message }, 'audit');
    };
    // The response may be a stream that has only started.
    if (ctx.body instanceof Stream) ctx.res.once('close', record);
    else record();
  };

const areaOf = (path: string): string => {
  const [, , first = '', , area = ''] = path.split('/');
  return first === 'namespaces' ? area : first;
};
const AREAS = new Set(Object.values(routes).map(({ path }) => areaOf(path)));

/** The area of the API, for metrics. */
function readArea(path: string): string {
  if (PLAYGROUND.test(path)) return 'playground';
  const area = areaOf(path);
  return AREAS.has(area) ? area : 'other';
}

export const answerErrors =
  (log: Logger, sessions: Sessions): Middleware<ConsoleState> =>
  async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      const consoleError = await translate(error, ctx, { log, sessions });
      ctx.status = consoleError.status;
      if (consoleError.retryAfter !== undefined) ctx.set('retry-after', String(consoleError.retryAfter));
      ctx.set('cache-control', 'no-store');
      ctx.body = buildEnvelope(consoleError);
    }
  };

async function translate(
  error: unknown,
  ctx: Context & { state: ConsoleState },
  { log, sessions }: { log: Logger; sessions: Sessions },
): Promise<ConsoleError> {
  if (error instanceof ConsoleError) return error;
  if (ctx.res.destroyed) return new ConsoleError('client_left', 'The client disconnected.');
  if (error instanceof KubernetesError) {
    if (error.status !== 401) return translateKubernetesError(error);
    // The token has expired or was revoked, and with it the session.
    if (ctx.state.session) await sessions.end(ctx.state.session).catch(() => {});
    ctx.append('set-cookie', formatCookie(ctx.state.origin, 'session', NO_COOKIE));
    return new ConsoleError('not_signed_in', 'The API server no longer accepts your token. Sign in again.');
  }
  if (isRedisAway(error)) return new ConsoleError('temporarily_unavailable', REDIS_AWAY, { retryAfter: 5 });
  if (isMalformed(error)) return new ConsoleError('invalid_request_error', error.message);
  log.error({ err: error, request_id: ctx.state.requestId }, 'unhandled error');
  return new ConsoleError(
    'internal_error',
    `Internal error in the console. Request ID: ${ctx.state.requestId}.`,
  );
}

/** Koa's and the router's own 4xx, such as for a malformed URL. */
const isMalformed = (error: unknown): error is Error =>
  error instanceof Error && 'status' in error && Number(error.status) >= 400 && Number(error.status) < 500;
