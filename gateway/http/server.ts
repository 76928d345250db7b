/** The HTTP server of an endpoint: its deadlines, the envelope for errors that Node sends by itself, and how middleware runs. */

import { randomUUID } from 'node:crypto';
import type { RequestListener, Server } from 'node:http';
import type Koa from 'koa';
import type { ErrorCode } from '../../api/errors.ts';
import { createHTTPServer, type HTTPFault, readAge } from '../../kit/http-server.ts';
import { ApiError, buildEnvelope, buildErrorHeaders, JSON_TYPE } from './error-response.ts';
import type { GatewayContext, GatewayMiddleware, GatewayState } from './exchange.ts';

export interface ServerLimits {
  headersTimeoutMs: number;
  bodyTimeoutMs: number;
  uploadTimeoutMs: number;
  batchUploadTimeoutMs?: number | undefined;
}

const CHECKING_INTERVAL_MS = 1_000;
const METHODS = ['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS'];
/** A proxy in front of a Service keeps its connections to one pod: closing them at this age spreads load over new pods (decision 0115). */
const CONNECTION_MAX_AGE_MS = 60_000;

/** Not yet listening. `limits` is read again each second, so changes apply without a restart. */
export function createServer(
  listener: RequestListener,
  limits: () => ServerLimits,
  { connectionMaxAgeMs = CONNECTION_MAX_AGE_MS }: { connectionMaxAgeMs?: number | undefined } = {},
): Server {
  const server = createHTTPServer(
    {
      connectionsCheckingInterval: CHECKING_INTERVAL_MS,
      methods: METHODS,
      refuse: refuseFault,
      // By `sendContinue`, once the caller is authenticated.
      isContinuedByListener: true,
    },
    (req, res) => {
      if (readAge(req) > connectionMaxAgeMs) res.shouldKeepAlive = false;
      listener(req, res);
    },
  );
  const applyLimits = () => {
    const { headersTimeoutMs, bodyTimeoutMs, uploadTimeoutMs, batchUploadTimeoutMs = 0 } = limits();
    server.headersTimeout = headersTimeoutMs;
    // A fallback for the deadlines that each route sets for its body.
    server.requestTimeout =
      headersTimeoutMs +
      Math.max(bodyTimeoutMs, uploadTimeoutMs, batchUploadTimeoutMs) +
      CHECKING_INTERVAL_MS;
  };
  applyLimits();
  const timer = setInterval(applyLimits, CHECKING_INTERVAL_MS);
  timer.unref();
  server.on('close', () => clearInterval(timer));
  return server;
}

const CODES: Record<HTTPFault['status'], ErrorCode> = {
  400: 'invalid_request_error',
  405: 'method_not_allowed',
  408: 'request_timeout',
  413: 'request_too_large',
  431: 'headers_too_large',
  501: 'method_not_allowed',
  505: 'invalid_request_error',
};

/** In the envelope, as all other errors. */
export function refuseFault({ status, message }: HTTPFault): { headers: string[]; text: string } {
  const error = new ApiError(CODES[status], message);
  return {
    headers: [...buildErrorHeaders(error, randomUUID()), 'content-type', JSON_TYPE],
    text: JSON.stringify(buildEnvelope(error)),
  };
}

/**
 * Instead of `app.callback()`, which would watch each response to write it and its errors, and wrap each step in
 * promises: both are done by `answerErrors`, and cost a tenth of a request (decision 0132).
 */
export function createListener(app: Koa<GatewayState>): RequestListener {
  const steps = app.middleware as GatewayMiddleware[];
  const run = (ctx: GatewayContext, index: number): Promise<unknown> | unknown =>
    steps[index]?.(ctx, () => run(ctx, index + 1) as Promise<unknown>);
  return (req, res) => {
    // A broken socket is handled on `close`; without a listener the error would crash the process.
    res.on('error', ignore);
    void run(app.createContext(req, res) as unknown as GatewayContext, 0);
  };
}

const ignore = () => {};
