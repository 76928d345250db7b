/** Every route requires a key of the deployment's workspace (docs/api.md, "Authentication"). */
import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import type { Counted } from '../../redis/admission/admission-calls.ts';
import { ApiError } from '../http/error-response.ts';
import type { GatewayMiddleware } from '../http/exchange.ts';
import { isSpoken, type Route } from '../http/routes.ts';
import { inSpan } from '../tracing/span.ts';
import type { Admissions, Admitted } from './admission.ts';

export const authenticateRequests =
  (admissions: Admissions, config: () => GatewayConfig): GatewayMiddleware =>
  async (ctx, next) => {
    const { state } = ctx;
    const sha256 = hash('sha256', readApiKey(ctx.req.headers), 'hex');
    const counted = decideCounted(state.route, config());
    let admitted: Admitted;
    try {
      const request = { namespace: config().namespace, sha256, counted };
      admitted = await inSpan(state.exchange.span, 'admission', () => admissions.admit(request));
    } catch (error) {
      // A key over a limit is authenticated, and counts in the deployment's usage.
      if (error instanceof ApiError && LIMITS.has(error.code)) state.keyHash = sha256;
      throw error;
    }
    state.exchange.check();
    state.keyHash = sha256;
    state.keyName = admitted.keyName;
    state.priority = admitted.priority;
    state.exchange.sendContinue();
    state.exchange.limitHeaders = admitted.headers;
    state.exchange.uncount = admitted.uncount;
    if (admitted.headers.length > 0) state.exchange.headers.push(...admitted.headers);
    await next();
  };

const LIMITS: ReadonlySet<string> = new Set(['rate_limit_exceeded', 'insufficient_quota']);

/** What will be refused anyway is not counted. */
function decideCounted(route: Route, config: GatewayConfig): Counted {
  if (!isServed(route, config)) return 'no';
  return route.spendsNothing ? 'requests' : 'all';
}

const isServed = (route: Route, config: GatewayConfig): boolean =>
  route.isCounted &&
  !config.paused &&
  !config.deleting &&
  (route.kinds === null || route.kinds.includes(config.kind)) &&
  isSpoken(route, config);

const BEARER = /^bearer +(.*)$/i;

/** The key as OpenAI's SDKs send it, or as Anthropic's do. Throws ApiError 401 without one (docs/api.md, "Authentication"). */
export function readApiKey(headers: IncomingHttpHeaders): string {
  const { authorization, 'x-api-key': own } = headers;
  const key = authorization === undefined ? String(own ?? '') : BEARER.exec(authorization)?.[1];
  const trimmed = key?.trim();
  if (trimmed) return trimmed;
  throw new ApiError(
    'invalid_api_key',
    'Send the header "Authorization: Bearer <API_KEY>", or "x-api-key: <API_KEY>".',
  );
}
