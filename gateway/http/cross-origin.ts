/** Lets pages of other origins call an endpoint (`route.cors`); a preflight carries no key, so none is asked for. */
import type { GatewayMiddleware, GatewayState } from './exchange.ts';

const EXPOSED = [
  'x-request-id',
  'request-id',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'retry-after',
  'x-should-retry',
  'openai-poll-after-ms',
  'metadata',
  'x-berth-cost',
  'x-berth-tokens',
  'x-berth-version',
  'x-berth-omitted-tools',
  'x-berth-ignored-parameters',
  'idempotent-replayed',
  'x-berth-idempotency-differs',
].join(', ');
const METHODS = 'GET, HEAD, POST, DELETE';
const DEFAULT_HEADERS =
  'authorization, x-api-key, content-type, idempotency-key, x-request-id, anthropic-version, anthropic-beta';
/** SDKs send headers of their own; none has an effect here. */
const HEADER_NAMES = /^[\w-]+(\s*,\s*[\w-]+){0,100}$/;
const PREFLIGHT_SECONDS = '600';

/** `findOrigins`: absent = none; `*` = any. Other origins get no CORS headers. */
export const allowOrigins =
  <S extends GatewayState>(findOrigins: (state: S) => readonly string[] | undefined): GatewayMiddleware<S> =>
  (ctx, next) => {
    const { req, res, state } = ctx;
    const { origin } = req.headers;
    if (origin === undefined) return next();
    const origins = findOrigins(state) ?? [];
    const isAny = origins.includes('*');
    if (!isAny && !origins.includes(origin)) return next();
    const { exchange } = state;
    exchange.originHeaders = ['access-control-allow-origin', isAny ? '*' : origin, 'vary', 'origin'];
    if (req.method === 'OPTIONS' && req.headers['access-control-request-method'] !== undefined) {
      res.writeHead(204, exchange.headers.concat(exchange.originHeaders, describePreflight(req.headers)));
      res.end();
      return Promise.resolve();
    }
    exchange.originHeaders.push('access-control-expose-headers', EXPOSED);
    exchange.headers.push(...exchange.originHeaders);
    return next();
  };

function describePreflight(headers: Record<string, string | string[] | undefined>): string[] {
  const wanted = String(headers['access-control-request-headers'] ?? '');
  return [
    'access-control-allow-methods',
    METHODS,
    'access-control-allow-headers',
    HEADER_NAMES.test(wanted) ? wanted : DEFAULT_HEADERS,
    'access-control-max-age',
    PREFLIGHT_SECONDS,
  ];
}
