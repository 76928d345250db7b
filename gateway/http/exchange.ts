/** One request and its response: ID, timing, outcome, whether the client is still connected, and the state of its middleware. */

import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Next, ParameterizedContext } from 'koa';
import { RECEIPT_HEADER, VERSION_HEADER } from '../../api/names.ts';
import { Account, type AdmittedBudgets } from '../account/account.ts';
import { readTraceContext, type Span, type TraceContext, type Tracer } from '../tracing/span.ts';
import { type ErrorDialect, readErrorDialect } from './error-response.ts';
import { EventStream } from './event-stream.ts';
import { readRoutePath } from './request-path.ts';
import type { Route } from './routes.ts';

/** The client disconnected: work on its request stops. */
export class ClientDisconnectedError extends Error {
  readonly code = 'client_disconnected';
  readonly status = 499;
}

const OMITTED_TOOLS_HEADER = 'x-berth-omitted-tools';
const IGNORED_HEADER = 'x-berth-ignored-parameters';
const MAX_IGNORED = 20;
/** The types are the client's own texts. */
const MAX_NAMED_TOOLS = 10;
const MAX_TYPE_CHARACTERS = 60;

type CancelListener = (reason: Error) => void;

export class Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly requestId: string;
  /** The path used for routing. */
  readonly routePath: string;
  readonly dialect: ErrorDialect;
  /** The caller's; null where it sent none. With `span`, that one. */
  trace: TraceContext | null;
  /** null if tracing is off. */
  span: Span | null = null;
  /** By performance.now(). */
  readonly startedAt = performance.now();
  /** Headers of a successful answer, alternating names and values. */
  readonly headers: string[];
  /** The subset with the key's limits, sent with errors as well. */
  limitHeaders: readonly string[] = [];
  /** The CORS headers, sent with errors as well. */
  originHeaders: string[] = [];
  /** Stops counting the request against the key's RPM; null if it is not counted. */
  uncount: (() => void) | null = null;
  /** A front holds it and resends it if there is no slot for it. */
  isHeldByFront = false;
  /** It was answered with an earlier request, by its idempotency key. */
  isReplay = false;
  /** The answer, once it has started as a stream. */
  stream: EventStream | null = null;
  /** Events sent so far, if its dialect numbers them. */
  countEvents: (() => number) | null = null;
  /** By performance.now(); 0 until the first body byte is written, apart from notices of a stream. */
  firstByteAt = 0;
  /** Milliseconds before an engine took it: in line for a slot, at a peer, or while one wakes. Its own queue is not in it. */
  waitedMs = 0;
  /** Berth's code of the error that was sent, as the response or within a stream. */
  errorCode: string | null = null;
  /** What is logged of it, if the gateway or the engine is at fault. */
  errorMessage: string | null = null;
  /** Types of the tools that the engine was not sent; null: it was sent all. */
  omittedTools: string | null = null;
  /** Parameters that the engine ignores; null: none that is known. */
  ignoredParameters: string | null = null;
  /** Address of the peer whose engine responds; null if it is this replica's. */
  peer: string | null = null;
  /** The deployment that answers; null if there is only one version. */
  version: string | null = null;
  /** Origin of the engine, or of the peer before it, that was asked last; null: none was. */
  askedOrigin: string | null = null;
  readonly account: Account;
  /** Where its header is. */
  #versionAt: number | null = null;
  #isContinued = false;
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
    this.account = new Account(req.headers[RECEIPT_HEADER] === 'true');
    this.headers = ['x-request-id', requestId];
    if (this.dialect === 'anthropic') this.headers.push('request-id', requestId);
    // Before anything asynchronous, so that no disconnect is missed.
    res.on('close', () => {
      if (!res.writableFinished) this.cancel(new ClientDisconnectedError());
    });
  }

  /** For the next event; the head is sent with the first one, or with a notice before it. Until then an error can have its own status. */
  openStream(): EventStream {
    if (this.firstByteAt === 0) this.firstByteAt = performance.now();
    return this.startStream();
  }

  /** For a notice, which is no event. */
  startStream(): EventStream {
    this.stream ??= new EventStream(this.res, this.headers);
    return this.stream;
  }

  /** Sends 100 Continue, once, to a client that waits for it; called when its key is valid and its body is wanted. */
  sendContinue(): void {
    if (this.#isContinued || !/^100-continue$/i.test(this.req.headers.expect ?? '')) return;
    this.#isContinued = true;
    this.res.writeContinue();
  }

  /** Why the request was canceled, such as ClientDisconnectedError; null if it was not. */
  get canceled(): Error | null {
    return this.#canceled;
  }

  get hasClientLeft(): boolean {
    return this.#canceled instanceof ClientDisconnectedError;
  }

  /** Tells client and log which tools the engine was not sent. */
  nameOmittedTools(types: readonly string[]): void {
    this.omittedTools = types
      .slice(0, MAX_NAMED_TOOLS)
      .map((type) => type.slice(0, MAX_TYPE_CHARACTERS).replaceAll(/[^\w.-]/g, '?'))
      .join(', ');
    this.headers.push(OMITTED_TOOLS_HEADER, this.omittedTools);
  }

  /** Tells client and log which parameters have no effect. */
  nameIgnored(names: readonly string[]): void {
    this.ignoredParameters = names.slice(0, MAX_IGNORED).join(', ');
    this.headers.push(IGNORED_HEADER, this.ignoredParameters);
  }

  /** Tells client and log which deployment answers; the last one counts. */
  nameVersion(name: string): void {
    this.#versionAt ??= this.headers.length;
    this.version = name;
    this.account.version = name;
    this.headers[this.#versionAt] = VERSION_HEADER;
    this.headers[this.#versionAt + 1] = name;
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

  /** The first reason counts. */
  cancel(reason: Error): void {
    if (this.#canceled) return;
    this.#canceled = reason;
    this.#abort?.abort();
    // One may remove others.
    for (let next = this.#listeners.shift(); next; next = this.#listeners.shift()) next(reason);
  }

  /** Throws the cancel reason, if canceled. */
  check(): void {
    if (this.#canceled) throw this.#canceled;
  }

  /** Milliseconds since the request arrived. */
  elapsed(): number {
    return performance.now() - this.startedAt;
  }
}

/** What middleware learns about a request. */
export interface GatewayState {
  exchange: Exchange;
  route: Route;
  /** From the path, decoded. */
  parameter: string;
  /** SHA-256 of the API key. */
  keyHash: string;
  /** Name of the APIKey; '' or absent while unknown. */
  keyName?: string;
  /** Priority of the API key, higher first; 0 where absent. */
  priority?: number;
  /** Budgets of the API key; null or absent: none. */
  budgets?: AdmittedBudgets | null;
  /** Deployments that the API key may call; null or absent: all. */
  scope?: readonly string[] | null;
  /** Hash of the prompt: routes to the replica that may have it cached. */
  prefix?: number | null | undefined;
  /** Identifies its conversation, if versions share the deployment's traffic. */
  conversation?: string | undefined;
  /** Whose share of memory and disk the request uses; its key's if absent. */
  tenant?: string;
}
/** Responds to a request, or throws ApiError. */
export type Handler = (state: GatewayState) => void | Promise<void>;
/** The part of Koa's context that middleware gets: its own request and response are not in the image (`bundle-program.ts`). */
export type GatewayContext<S extends GatewayState = GatewayState> = Pick<
  ParameterizedContext<S>,
  'req' | 'res' | 'state' | 'path' | 'respond'
>;
export type GatewayMiddleware<S extends GatewayState = GatewayState> = (
  ctx: GatewayContext<S>,
  next: Next,
) => unknown;

/** IDs that are safe in logs and headers. */
const VALID_REQUEST_ID = /^[\w.:/+=-]{1,128}$/;

/** Uses the caller's `x-request-id` if valid, else generates one; every response carries it. `tracer`: starts its trace. */
export const identifyRequest =
  (tracer: Tracer | null = null): GatewayMiddleware =>
  (ctx, next) => {
    const given = ctx.req.headers['x-request-id'];
    const requestId = typeof given === 'string' && VALID_REQUEST_ID.test(given) ? given : randomUUID();
    ctx.state.exchange = new Exchange(ctx.req, ctx.res, requestId);
    if (tracer) beginRequestSpan(tracer, ctx.state.exchange);
    // Responses are written directly; Koa only composes.
    ctx.respond = false;
    return next();
  };

/** Longest value in spans that callers choose. */
const MAX_TEXT_LENGTH = 256;

/** A copy, since V8 keeps the whole string that a substring was cut from. */
const cut = (text: string): string =>
  Buffer.from(text.slice(0, MAX_TEXT_LENGTH), 'latin1').toString('latin1');

/** Starts the span of a request, which ends with its last byte. */
export function beginRequestSpan(tracer: Tracer, exchange: Exchange): void {
  const { method = '', url = '', headers } = exchange.req;
  const span = tracer.begin(method, {
    kind: 'server',
    parent: exchange.trace,
    attributes: {
      'http.request.method': method,
      'url.scheme': 'http',
      'url.path': cut(url.split('?', 1)[0]!),
      'server.address': cut(headers.host?.replace(/:\d+$/, '') ?? '') || undefined,
      'berth.request_id': exchange.requestId,
    },
  });
  exchange.span = span;
  exchange.trace = span;
}
