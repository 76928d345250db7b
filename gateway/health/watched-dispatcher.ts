/** Connections to an engine that report to its health check: each POST is work that starts, produces output and ends. */
import type { IncomingHttpHeaders } from 'node:http';
import { Dispatcher } from 'undici';
import { readConnectionFailure } from '../../kit/connection-error.ts';
import { type Controller, type Handler, PassingHandler } from '../../kit/passing-handler.ts';
import { DRAINING, EngineDesertedError, UNREAD_MEDIA } from '../engine/engine-error.ts';
import type { WorkOutcome } from './engine-verdict.ts';
import type { WatchedWork, WorkSource } from './watched-work.ts';

/** Receives what is observed of requests. */
export interface EngineObserver {
  /** The engine's port refuses connections. */
  seeRefusal(): void;
  /** The engine's HTTP server answers. */
  seeAnswer(): void;
  begin(source: WorkSource): WorkProgress;
}

/** Receives what is observed of one piece of work. */
export type WorkProgress = Pick<WatchedWork, 'progress' | 'end' | 'break'>;

/** Jobs that are only submitted and polled: their runs report themselves. */
const JOBS_PATH = /^\/v1\/videos(\/|\?|$)/;
/** A comment in an event stream keeps a connection open, but shows nothing about the model. */
const COMMENT = 0x3a;
/** In an engine's error: it is out of memory now, takes no more requests, or does not read such media, and works otherwise. */
export const isExcused = (text: string): boolean =>
  /memory/i.test(text) || DRAINING.test(text) || UNREAD_MEDIA.test(text);

export class WatchedDispatcher extends Dispatcher {
  readonly #inner: Dispatcher;
  readonly #observer: EngineObserver;

  constructor(inner: Dispatcher, observer: EngineObserver) {
    super();
    this.#inner = inner;
    this.#observer = observer;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Handler): boolean {
    const isWork = options.method === 'POST' && !JOBS_PATH.test(options.path);
    return this.#inner.dispatch(options, new WatchedHandler(handler, this.#observer, isWork));
  }
}

class WatchedHandler extends PassingHandler implements WorkSource {
  readonly #observer: EngineObserver;
  readonly #isWork: boolean;
  #work: WorkProgress | null = null;
  #controller: Controller | null = null;
  #status = 0;
  #isExcused = false;

  constructor(handler: Handler, observer: EngineObserver, isWork: boolean) {
    super(handler);
    this.#observer = observer;
    this.#isWork = isWork;
  }

  get isHeld(): boolean {
    return this.#controller?.paused ?? false;
  }

  giveUp(): void {
    this.#controller?.abort(new EngineDesertedError());
  }

  override onRequestStart(controller: Controller, context: unknown): void {
    this.#controller = controller;
    if (this.#isWork) this.#work ??= this.#observer.begin(this);
    super.onRequestStart(controller, context);
  }

  override onResponseStart(
    controller: Controller,
    status: number,
    headers: IncomingHttpHeaders,
    message?: string,
  ): void {
    this.#status = status;
    this.#observer.seeAnswer();
    super.onResponseStart(controller, status, headers, message);
  }

  override onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.#status >= 300) this.#isExcused ||= isExcused(chunk.toString('latin1', 0, 2_048));
    else if (chunk[0] !== COMMENT) this.#work?.progress();
    super.onResponseData(controller, chunk);
  }

  override onResponseEnd(controller: Controller, trailers: IncomingHttpHeaders): void {
    this.#work?.end(this.#evaluateAnswer());
    super.onResponseEnd(controller, trailers);
  }

  override onResponseError(controller: Controller, error: Error): void {
    const failure = readConnectionFailure(error);
    if (failure === 'refused') this.#observer.seeRefusal();
    if (failure === 'lost') this.#work?.break();
    this.#work?.end('neutral');
    super.onResponseError(controller, error);
  }

  /** 503 and 429 mean that the engine is full, 4xx blames the request, and what is excused does not mean that the engine is broken. */
  #evaluateAnswer(): WorkOutcome {
    if (this.#status < 300) return 'good';
    return this.#status >= 500 && this.#status !== 503 && !this.#isExcused ? 'fault' : 'neutral';
  }
}
