/** The HTTP server of an endpoint: its deadlines, the envelope for errors that Node sends by itself, and how middleware runs. */

import { randomUUID } from 'node:crypto';
import { createServer as createHttpServer, type RequestListener, type Server, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type Koa from 'koa';
import { ApiError, buildEnvelope, buildErrorHeaders, JSON_TYPE } from './error-response.ts';
import type { GatewayContext, GatewayMiddleware, GatewayState } from './exchange.ts';

export interface ServerLimits {
  headersTimeoutMs: number;
  bodyTimeoutMs: number;
  uploadTimeoutMs: number;
}

const MAX_HEADER_BYTES = 16 * 1024;
const CHECKING_INTERVAL_MS = 1_000;
/** Above the idle time of the usual load balancers, so that it is never the server that closes first. */
const KEEP_ALIVE_MS = 620_000;
/** A proxy in front of a Service keeps its connections to one pod: closing them at this age spreads load over new pods. */
const CONNECTION_MAX_AGE_MS = 60_000;

const OPENED_AT = Symbol('openedAt');
type AgingSocket = Duplex & { [OPENED_AT]?: number };

/** Not yet listening. `limits` is read again each second, so changes apply without a restart. */
export function createServer(
  listener: RequestListener,
  limits: () => ServerLimits,
  { connectionMaxAgeMs = CONNECTION_MAX_AGE_MS }: { connectionMaxAgeMs?: number | undefined } = {},
): Server {
  const server = createHttpServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      connectionsCheckingInterval: CHECKING_INTERVAL_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      noDelay: true,
      // The application responds, in the envelope.
      requireHostHeader: false,
    },
    (req, res) => {
      if (performance.now() - ((req.socket as AgingSocket)[OPENED_AT] ?? 0) > connectionMaxAgeMs)
        res.shouldKeepAlive = false;
      listener(req, res);
    },
  );
  server.on('connection', (socket: AgingSocket) => {
    socket[OPENED_AT] = performance.now();
  });
  const applyLimits = () => {
    const { headersTimeoutMs, bodyTimeoutMs, uploadTimeoutMs } = limits();
    server.headersTimeout = headersTimeoutMs;
    // A fallback for the deadlines that each route sets for its body.
    server.requestTimeout =
      headersTimeoutMs + Math.max(bodyTimeoutMs, uploadTimeoutMs) + CHECKING_INTERVAL_MS;
  };
  applyLimits();
  const timer = setInterval(applyLimits, CHECKING_INTERVAL_MS);
  timer.unref();
  server.on('close', () => clearInterval(timer));
  server.on('clientError', answerClientError);
  server.on('checkExpectation', listener);
  // The application sends it, by `sendContinue`, once the caller is authenticated.
  server.on('checkContinue', listener);
  server.on('connect', (_, socket) =>
    answerRaw(socket, new ApiError('method_not_allowed', 'CONNECT is not supported.')),
  );
  return server;
}

function answerClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
  // Node itself checks here whether a response has started: after that, an error would corrupt it.
  const current = (socket as { _httpMessage?: { headersSent: boolean } })._httpMessage;
  if (error.code === 'ECONNRESET' || !socket.writable || current?.headersSent) {
    socket.destroy();
    return;
  }
  answerRaw(socket, describeClientError(error));
}

function describeClientError(error: NodeJS.ErrnoException): ApiError {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return new ApiError('headers_too_large', `The request headers exceed ${MAX_HEADER_BYTES} bytes.`);
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new ApiError('request_too_large', 'The chunk extensions of the body are too long.');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ApiError('request_timeout', 'The request did not arrive in time.');
    default:
      return new ApiError('invalid_request_error', `This is not a valid HTTP request: ${error.message}.`);
  }
}

function answerRaw(socket: Duplex, error: ApiError): void {
  const text = JSON.stringify(buildEnvelope(error));
  const headers = buildErrorHeaders(error, randomUUID());
  headers.push(
    'content-type',
    JSON_TYPE,
    'content-length',
    String(Buffer.byteLength(text)),
    'connection',
    'close',
  );
  let head = `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n`;
  for (let index = 0; index < headers.length; index += 2)
    head += `${headers[index]}: ${headers[index + 1]}\r\n`;
  socket.on('error', () => {});
  socket.end(`${head}\r\n${text}`);
}

/**
 * Instead of `app.callback()`, which would watch each response to write it and its errors, and wrap each step in
 * promises: both are done by `answerErrors`, and cost a tenth of a request.
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
