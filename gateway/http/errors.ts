/** The outermost middleware: every error is answered in the envelope, logged and counted. */
import type { ServerResponse } from 'node:http';
import { VERSION_HEADER } from '../../api/names.ts';
import { PERSONAL_KEY_PREFIX } from '../../api/redis-keys.ts';
import { writePlain } from '../../kit/log.ts';
import { countedAs } from '../../redis/usage/key-usage.ts';
import type { Bill } from '../account/account.ts';
import type { GenAIOperation } from '../telemetry/gen-ai-metrics.ts';
import type { Logger } from '../telemetry/log.ts';
import type { GatewayMetrics } from '../telemetry/metrics.ts';
import type { PromisedService } from '../telemetry/slo-metrics.ts';
import type { DeploymentUsage } from '../telemetry/usage.ts';
import type { Span } from '../tracing/span.ts';
import { formatErrorEvent } from './error-event.ts';
import { ApiError, sendError } from './error-response.ts';
import { toBytesText } from './event-stream.ts';
import {
  ClientDisconnectedError,
  type Exchange,
  type GatewayMiddleware,
  type GatewayState,
} from './exchange.ts';
import { describeRequestLine } from './request-log.ts';
import { explainRedisOutage } from './unavailability.ts';

const CLIENT_LEFT = 499;
const ACCEPTED = 202;
/** The error of requests whose clients disconnected. */
const LEFT = 'client_disconnected';
const BROKEN = 502;
const UNROUTED = 'none';

export interface Sinks<S extends GatewayState = GatewayState> {
  log: Logger;
  metrics: GatewayMetrics;
  /** Usage of the requested deployment; null if none was found. */
  findUsage: (state: S) => DeploymentUsage | null;
  /** What serves the requests; absent in a front. */
  model?: () => ServingModel;
  /** The objectives of the requested deployment; null if its owner paused it. */
  findService?: (state: S) => PromisedService | null;
}

/** As labeled in metrics. */
export type ServingModel = Pick<GenAIOperation, 'provider' | 'model'>;

export const answerErrors =
  <S extends GatewayState>({ log, metrics, findUsage, model, findService }: Sinks<S>): GatewayMiddleware<S> =>
  async (ctx, next) => {
    const { exchange } = ctx.state;
    metrics.inflight.inc();
    try {
      await next();
    } catch (error) {
      answerError(exchange, error, log);
    } finally {
      metrics.inflight.dec();
      const usage = ctx.state.keyHash === undefined ? null : findUsage(ctx.state);
      const isCounted = isCountedRequest(ctx.state) && !isSentAgain(exchange);
      const status = exchange.res.headersSent ? exchange.res.statusCode : CLIENT_LEFT;
      // A stream that fails has sent its 200 already.
      const outcome = exchange.errorCode !== null && status < 400 ? BROKEN : status;
      const sinks = { log, metrics, model: model?.(), usage: isCounted ? usage : null };
      record(ctx.state, { status, outcome }, sinks);
      if (exchange.span) endRequestSpan(exchange.span, ctx.state, outcome);
      noteKeyUse(usage, ctx.state);
      if (isCounted) {
        usage?.countRequest(outcome, exchange.elapsed(), findFirstTokenMs(exchange), exchange.waitedMs);
        // Queued requests are charged by their job.
        if (exchange.account.bill && status !== ACCEPTED && ctx.state.keyHash !== undefined)
          usage?.addOfKey(
            countedAs(ctx.state.keyHash, ctx.state.keyName),
            describeUse(exchange.account.bill),
          );
        const service = findService?.(ctx.state);
        if (service) observeService(exchange, outcome, { metrics, service });
      }
    }
  };

/** `outcome`: the status, also of a stream that failed later. */
function endRequestSpan(
  span: Span,
  { exchange, route, keyName }: Partial<GatewayState> & Pick<GatewayState, 'exchange'>,
  outcome: number,
): void {
  const { res, errorCode } = exchange;
  if (route) span.rename(`${route.method} ${route.path}`);
  span.set({
    'http.route': route?.path,
    ...(res.headersSent && { 'http.response.status_code': res.statusCode }),
    'berth.api_key': keyName || undefined,
    'berth.version': exchange.version ?? undefined,
  });
  if (outcome >= 500) span.fail(errorCode ?? String(outcome));
  else if (outcome >= 400) span.end({ code: errorCode ?? 'client_disconnected', status: outcome });
  else span.end(exchange.canceled);
}

/** Notes the use of keys that exist as objects, whatever was requested. */
function noteKeyUse(usage: DeploymentUsage | null, { keyHash, keyName }: GatewayState): void {
  if (keyHash === undefined || keyName?.startsWith(PERSONAL_KEY_PREFIX)) return;
  usage?.keyUses.note(keyHash, Date.now());
}

/** Requests without a valid key do not count, nor do reads of models and requests, and answers that name an earlier request. */
const isCountedRequest = ({ keyHash, route, exchange }: GatewayState): boolean =>
  keyHash !== undefined && route?.method === 'POST' && route.served !== 'always' && !exchange.isReplay;

const describeUse = ({ usage, micros }: Bill) => ({
  requests: 1,
  inputTokens: usage?.inputTokens ?? 0,
  outputTokens: usage?.outputTokens ?? 0,
  micros,
});

/** Client errors, disconnects and missing credit neither meet nor miss an objective. */
function observeService(
  exchange: Exchange,
  outcome: number,
  { metrics, service }: { metrics: GatewayMetrics; service: PromisedService },
): void {
  const { errorCode, hasClientLeft } = exchange;
  const hasFailed = outcome >= 500;
  const isCallers = errorCode === 'insufficient_quota' || (hasClientLeft && !hasFailed);
  if (isCallers || (outcome >= 400 && !hasFailed)) return;
  metrics.slo.observe(service, { hasFailed, firstTokenMs: findFirstTokenMs(exchange) });
}

/** null: no stream, or it never started. */
const findFirstTokenMs = ({ stream, firstByteAt, startedAt }: Exchange): number | null =>
  stream && firstByteAt > 0 ? firstByteAt - startedAt : null;

/** Requests that a front retries count at the last attempt, or at the front. */
const isSentAgain = ({ isHeldByFront, errorCode }: Exchange): boolean =>
  isHeldByFront && (errorCode === 'replica_saturated' || errorCode === 'no_pod_available');

function answerError(exchange: Exchange, thrown: unknown, log: Logger): void {
  if (thrown instanceof ClientDisconnectedError) return;
  const { req, res, requestId } = exchange;
  const known = explainRedisOutage(thrown);
  const error = known instanceof ApiError ? known : toInternalError(thrown, requestId, log);
  // Not the engine's own code, of which there may be any number.
  exchange.errorCode = error.code;
  const isOurs = error.status >= 500;
  if (isOurs) exchange.errorMessage = error.logMessage;
  // Server errors do not count against the key, except timeouts, which the caller can influence.
  const isCounted = (!isOurs && !isSentAgain(exchange)) || error.code === 'request_timeout';
  if (!isCounted) exchange.uncount?.();
  if (exchange.stream) {
    const events = exchange.countEvents?.();
    const event = toBytesText(formatErrorEvent(error, { req, requestId, events }));
    if (!res.destroyed) exchange.stream.end(exchange.account.addReceipt(event));
    return;
  }
  const more = [
    ...(isCounted ? exchange.limitHeaders : []),
    ...exchange.originHeaders,
    ...(exchange.version === null ? [] : [VERSION_HEADER, exchange.version]),
  ];
  sendError(res, withHeaders(error, more), requestId, exchange.dialect);
}

const withHeaders = (error: ApiError, more: string[]): ApiError =>
  more.length === 0
    ? error
    : new ApiError(error.code, error.message, {
        ...error.details,
        headers: [...(error.details.headers ?? []), ...more],
      });

function toInternalError(thrown: unknown, requestId: string, log: Logger): ApiError {
  log.error({ request_id: requestId, err: thrown }, 'internal error');
  return new ApiError(
    'internal_error',
    `Internal gateway error; report it with the request ID ${requestId}.`,
  );
}

type RecordSinks = Pick<Sinks, 'log' | 'metrics'> & {
  model: ServingModel | undefined;
  /** null: the request does not count. */
  usage: DeploymentUsage | null;
};

function record(
  state: GatewayState,
  { status, outcome }: { status: number; outcome: number },
  { log, metrics, model, usage }: RecordSinks,
): void {
  const { exchange } = state;
  const { res, errorMessage, firstByteAt } = exchange;
  const route = state.route?.name ?? UNROUTED;
  const durationMs = exchange.elapsed();
  metrics.requests.add(1, route, status);
  if (
    exchange.version !== null &&
    exchange.askedOrigin !== null &&
    isCountedRequest(state) &&
    !isSentAgain(exchange)
  )
    metrics.versions.add(1, exchange.version, outcome);
  const traceId = exchange.trace?.traceId;
  const firstByteSeconds = firstByteAt > 0 ? (firstByteAt - exchange.startedAt) / 1_000 : null;
  metrics.duration.observe(route, durationMs / 1_000, traceId);
  if (firstByteSeconds !== null) metrics.firstByte.observe(route, firstByteSeconds, traceId);
  if (model && isCountedRequest(state) && status !== ACCEPTED)
    metrics.genAI.observe({
      ...model,
      route,
      error: exchange.errorCode ?? (exchange.hasClientLeft ? LEFT : null),
      durationSeconds: durationMs / 1_000,
      firstTokenSeconds: exchange.stream ? firstByteSeconds : null,
      usage: exchange.account.bill?.usage ?? null,
      traceId,
    });
  if (exchange.hasClientLeft)
    metrics.aborted.inc({ phase: res.headersSent ? 'mid_stream' : 'before_first_byte' });

  // Unauthenticated requests, and those that a front only relays, would fill the log.
  const level = errorMessage !== null ? 'warn' : state.keyHash === undefined ? 'debug' : 'info';
  if (log.isLevelEnabled(level)) {
    const fields = describeRequestLine(state, { route, status, durationMs });
    // Queued requests have a list of their own.
    if (usage && status !== ACCEPTED) usage.recent.note(fields, outcome);
    if (errorMessage !== null) log[level](fields, errorMessage);
    else writePlain(log, level, { fields, message: 'request' });
  }
}

const EXCHANGE = Symbol('exchange');
type CutResponse = ServerResponse & { [EXCHANGE]?: Exchange };

/** Has another replica answer a request; false: there is none, and nothing was answered. */
export type PassOn = (exchange: Exchange) => Promise<boolean>;

/** Refuses new requests and ends those in flight when a gateway must stop: with the envelope, not a broken connection. */
export class CutOff {
  #reason: ApiError | null = null;
  #passOn: PassOn = async () => false;

  /** Inside the error handler, outside everything that takes time. */
  readonly middleware: GatewayMiddleware = ({ state: { exchange } }, next) => {
    (exchange.res as CutResponse)[EXCHANGE] = exchange;
    return this.#reason ? this.#passOnOrRefuse(this.#reason, exchange) : next();
  };

  get isRefusing(): boolean {
    return this.#reason !== null;
  }

  /** From now on every request is passed on, or gets this error. */
  refuse(reason: ApiError, passOn = this.#passOn): void {
    this.#reason = reason;
    this.#passOn = passOn;
  }

  /** Ends these responses; started streams get the error's event. */
  end(responses: Iterable<ServerResponse>, reason: ApiError): void {
    for (const response of responses) (response as CutResponse)[EXCHANGE]?.cancel(reason);
  }

  async #passOnOrRefuse(reason: ApiError, exchange: Exchange): Promise<void> {
    if (!(await this.#passOn(exchange))) throw reason;
  }
}
