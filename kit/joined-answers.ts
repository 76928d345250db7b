/**
 * For connections of undici: many tiny pieces that arrive at once are passed on together, and those that send them take turns. What is passed on
 * may be kept, and a piece of one byte takes hundreds of bytes of memory.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { GrowingBuffer } from './growing-buffer.ts';
import { awaitPieceTurn, MAX_PIECES_PER_TURN } from './piece-turns.ts';

type Handler = Dispatcher.DispatchHandler;
type Controller = Dispatcher.DispatchController;

/** Longer ones are passed on as they are. */
const SHORT_BYTES = 1024;
/** So many short ones are passed on before the next one waits for the others that arrive with it: a stream of tokens is not delayed. */
const FREE_PIECES = 8;

export const joinAnswers: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) =>
  dispatch(options, new JoinedAnswer(handler));

class JoinedAnswer implements Handler {
  readonly #handler: Handler;
  #flow: Flow | null = null;
  readonly #held = new GrowingBuffer();
  /** Short ones since the last were passed on together. */
  #pieces = 0;

  constructor(handler: Handler) {
    this.#handler = handler;
  }

  onRequestStart(controller: Controller, context: unknown): void {
    this.#flow = new Flow(controller);
    this.#handler.onRequestStart?.(this.#flow, context);
  }

  onRequestUpgrade(...args: Parameters<NonNullable<Handler['onRequestUpgrade']>>): void {
    this.#handler.onRequestUpgrade?.(...args);
  }

  onResponseStart(_: Controller, status: number, headers: IncomingHttpHeaders, message?: string): void {
    this.#handler.onResponseStart?.(this.#flow!, status, headers, message);
  }

  onResponseData(_: Controller, piece: Buffer): void {
    const flow = this.#flow!;
    const isShort = piece.length < SHORT_BYTES;
    if (this.#held.length === 0 && (!isShort || ++this.#pieces <= FREE_PIECES)) {
      this.#handler.onResponseData?.(flow, piece);
      return;
    }
    if (this.#held.length === 0) process.nextTick(() => this.#passLate(flow));
    this.#held.add(piece);
    if (++this.#pieces === MAX_PIECES_PER_TURN) flow.awaitTurn();
  }

  onResponseEnd(_: Controller, trailers: IncomingHttpHeaders): void {
    this.#pass();
    this.#handler.onResponseEnd?.(this.#flow!, trailers);
  }

  onResponseError(controller: Controller, error: Error): void {
    this.#pass();
    this.#handler.onResponseError?.(this.#flow ?? controller, error);
  }

  /** An error of the reader would end the process here. */
  #passLate(flow: Flow): void {
    try {
      this.#pass();
    } catch (error) {
      flow.abort(error as Error);
    }
  }

  #pass(): void {
    this.#pieces = 0;
    if (this.#held.length === 0) return;
    const joined = this.#held.read();
    this.#held.clear();
    if (!this.#flow!.aborted) this.#handler.onResponseData?.(this.#flow!, joined);
  }
}

/** Paused by the reader of an answer, and until its turn. */
class Flow implements Controller {
  readonly #controller: Controller;
  #isPaused = false;
  #isWaiting = false;

  constructor(controller: Controller) {
    this.#controller = controller;
  }

  get aborted(): boolean {
    return this.#controller.aborted;
  }

  get reason(): Error | null {
    return this.#controller.reason;
  }

  get rawHeaders(): Controller['rawHeaders'] {
    return this.#controller.rawHeaders;
  }

  get rawTrailers(): Controller['rawTrailers'] {
    return this.#controller.rawTrailers;
  }

  /** By the reader. */
  get paused(): boolean {
    return this.#isPaused;
  }

  abort(reason: Error): void {
    this.#controller.abort(reason);
  }

  pause(): void {
    this.#isPaused = true;
    this.#controller.pause();
  }

  resume(): void {
    this.#isPaused = false;
    if (!this.#isWaiting) this.#controller.resume();
  }

  awaitTurn(): void {
    this.#isWaiting = true;
    this.#controller.pause();
    awaitPieceTurn(() => {
      this.#isWaiting = false;
      if (!this.#isPaused && !this.aborted) this.#controller.resume();
    });
  }
}
