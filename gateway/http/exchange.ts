/** One request and its response: ID, timing, outcome, and whether the client is still connected; and the state of its chain. */

import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Next, ParameterizedContext } from 'koa';
import { RECEIPT_HEADER } from '../../api/names.ts';
import type { Span } from '../tracing/span.ts';
import { readTraceContext, type TraceContext } from '../tracing/trace-context.ts';
import type { Tracer } from '../tracing/tracer.ts';
import { type ErrorDialect, readErrorDialect } from './error-dialect.ts';
import type { EventStream } from './event-stream.ts';
import { formatReceiptHeaders, insertReceiptComment } from './receipt.ts';
import { readRoutePath } from './request-path.ts';
import { beginRequestSpan } from './request-span.ts';
import type { Route } from './routes.ts';

/** The client disconnected: the work on its request ends. */
export class ClientDisconnectedError extends Error {
  readonly code = 'client_disconnected';
  readonly status = 499;
}

interface TokenUsage {
  inputTokens: number;
  cachedInputTokens: number;
  outputTokens: number;
  totalTokens: number;
}

/** What a request came to. */
export interface Bill {
  /** null where it is not paid by tokens. */
  usage: TokenUsage | null;
  /** Whole millionths of the currency of prices. */
  micros: number;
}

type CancelListener = (reason: Error) => void;

export class Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly requestId: string;
  /** By which its route is found. */
  readonly routePath: string;
  readonly dialect: ErrorDialect;
  /** The caller's; null where it sent none. With `span`, that one. */
  trace: TraceContext | null;
  /** null where nothing is traced. */
  span: Span | null = null;
  /** By performance.now(). */
  readonly startedAt = performance.now();
  /** Headers of a successful answer, alternating names and values. */
  readonly headers: string[];
  /** Those of them with the key's limits, for errors as well. */
  limitHeaders: readonly string[] = [];
  /** Those of them that let a page of another origin read the answer, for errors too. */
  originHeaders: string[] = [];
  /** Takes the request out of its key's minute; null where it is not counted. */
  uncount: (() => void) | null = null;
  /** A front holds it, and sends it again if there is no place for it. */
  isHeldByFront = false;
  /** The answer, once it has started as a stream. */
  stream: EventStream | null = null;
  /** How many events it has had, where its dialect numbers them. */
  countEvents: (() => number) | null = null;
  /** By performance.now(); 0 until the first byte of the body was written. */
  firstByteAt = 0;
  /** Our code of the error that was answered, in the head or within a stream. */
  errorCode: string | null = null;
  /** What is logged of it, where it is the gateway's or the engine's fault. */
  errorMessage: string | null = null;
  /** Address of the peer whose engine answers; null while it is this replica's. */
  peer: string | null = null;
  /** null until it is known, and where nothing was used. */
  bill: Bill | null = null;
  /** Works out the bill from what was used so far: right before the end of an answer is sent, or else when the request ends. */
  settle: () => void = () => {};
  #abort: AbortController | null = null;
  /** Most requests have one at a time. */
  readonly #listeners: CancelListener[] = [];
  #canceled: Error | null = null;

  constructor(req: IncomingMessage, res: ServerResponse, requestId: string) {
    this.req = req;
    this.res = res;
    this.requestId = requestId;
    this.routePath = readRoutePath(req.url);
    this.dialect = readErrorDialect(req, this.routePath);
    this.trace = readTraceContext(req.headers);
    this.headers = ['x-request-id', requestId];
    if (this.dialect === 'anthropic') this.headers.push('request-id', requestId);
    // Before anything that takes time, so that no disconnect is missed.
    res.on('close', () => {
      if (!res.writableFinished) this.cancel(new ClientDisconnectedError());
    });
  }

  /** Sends 100 Continue to a client that waits for it; called once its key is valid. */
  sendContinue(): void {
    if (/^100-continue$/i.test(this.req.headers.expect ?? '')) this.res.writeContinue();
  }

  /** Why the request was canceled, such as ClientDisconnectedError; null while it was not. */
  get canceled(): Error | null {
    return this.#canceled;
  }

  get hasClientLeft(): boolean {
    return this.#canceled instanceof ClientDisconnectedError;
  }

  /** Headers of an answer that is complete, alternating names and values; none unless the client asks for its receipt. */
  receiptHeaders(): string[] {
    if (!this.#isReceiptRequested) return [];
    this.settle();
    return this.bill ? formatReceiptHeaders(this.bill) : [];
  }

  /** The last events of a stream, whose head was sent before anything was used; with a receipt if the client asks for it. */
  addReceipt(events: string): string {
    if (!this.#isReceiptRequested) return events;
    this.settle();
    return this.bill ? insertReceiptComment(events, this.bill) : events;
  }

  get #isReceiptRequested(): boolean {
    return this.req.headers[RECEIPT_HEADER] === 'true';
  }

  /** Aborted when the request is canceled. */
  get signal(): AbortSignal {
    if (!this.#abort) {
      this.#abort = new AbortController();
      if (this.#canceled) this.#abort.abort();
    }
    return this.#abort.signal;
  }

  /** Calls the listener when the request is canceled, at once if it was. Returns the function that removes it. */
  onCancel(listener: CancelListener): () => void {
    if (this.#canceled) {
      listener(this.#canceled);
      return () => {};
    }
    this.#listeners.push(listener);
    return () => {
      const index = this.#listeners.indexOf(listener);
      if (index >= 0) this.#listeners.splice(index, 1);
    };
  }

  /** Later reasons change nothing. */
  cancel(reason: Error): void {
    if (this.#canceled) return;
    this.#canceled = reason;
    this.#abort?.abort();
    // One may remove others.
    for (let next = this.#listeners.shift(); next; next = this.#listeners.shift()) next(reason);
  }

  /** Throws the reason of the cancel, if there was one. */
  check(): void {
    if (this.#canceled) throw this.#canceled;
  }

  /** Milliseconds since the request arrived. */
  elapsed(): number {
    return performance.now() - this.startedAt;
  }
}

/** What the steps of a chain learn about a request. */
export interface GatewayState {
  exchange: Exchange;
  route: Route;
  /** Of the path, decoded. */
  parameter: string;
  /** SHA-256 of the API key. */
  keyHash: string;
  /** Of the APIKey; '' or absent while it is unknown. */
  keyName?: string;
  /** Of the API key, higher first; 0 where absent. */
  priority?: number;
  /** Of the prompt: leads to the replica that may have it in its cache. */
  prefix?: number | null | undefined;
  /** Whose share of the process's memory and disk the request takes; its key's where absent. */
  tenant?: string;
}
/** Answers a request, or throws ApiError. */
export type Handler = (state: GatewayState) => void | Promise<void>;
/** What a step is given of Koa: the rest, above all its own requests and responses, is not in the image (`bundle-gateway.ts`). */
export type GatewayContext<S extends GatewayState = GatewayState> = Pick<
  ParameterizedContext<S>,
  'req' | 'res' | 'state' | 'path' | 'respond'
>;
export type GatewayMiddleware<S extends GatewayState = GatewayState> = (
  ctx: GatewayContext<S>,
  next: Next,
) => unknown;

/** What logs and headers take as it is. */
const VALID_REQUEST_ID = /^[\w.:/+=-]{1,128}$/;

/** Takes the caller's `x-request-id` if it is sane, else makes one; every answer carries it. `tracer`: begins its trace. */
export const identifyRequest =
  (tracer: Tracer | null = null): GatewayMiddleware =>
  (ctx, next) => {
    const given = ctx.req.headers['x-request-id'];
    const requestId = typeof given === 'string' && VALID_REQUEST_ID.test(given) ? given : randomUUID();
    ctx.state.exchange = new Exchange(ctx.req, ctx.res, requestId);
    if (tracer) beginRequestSpan(tracer, ctx.state.exchange);
    // Answers are written to the response itself; Koa only composes.
    ctx.respond = false;
    return next();
  };
