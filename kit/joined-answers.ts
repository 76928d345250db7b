/**
 * For connections of undici: many tiny pieces that arrive at once are passed on together, and those that send them take turns. What is passed on
 * may be kept, and a piece of one byte takes hundreds of bytes of memory.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { GrowingBuffer } from './growing-buffer.ts';
import { type Controller, PassingHandler } from './passing-handler.ts';
import { awaitPieceTurn, MAX_PIECES_PER_TURN } from './piece-turns.ts';

/** Longer ones are passed on as they are. */
const SHORT_BYTES = 1024;
/** So many short ones are passed on before the next one waits for the others that arrive with it: a stream of tokens is not delayed. */
const FREE_PIECES = 8;

export const joinAnswers: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) =>
  dispatch(options, new JoinedAnswer(handler));

class JoinedAnswer extends PassingHandler {
  #flow: Flow | null = null;
  readonly #held = new GrowingBuffer();
  /** Short ones since the last were passed on together. */
  #pieces = 0;

  override onRequestStart(controller: Controller, context: unknown): void {
    this.#flow = new Flow(controller);
    super.onRequestStart(this.#flow, context);
  }

  override onResponseStart(
    _: Controller,
    status: number,
    headers: IncomingHttpHeaders,
    message?: string,
  ): void {
    super.onResponseStart(this.#flow!, status, headers, message);
  }

  override onResponseData(_: Controller, piece: Buffer): void {
    const flow = this.#flow!;
    const isShort = piece.length < SHORT_BYTES;
    if (this.#held.length === 0 && (!isShort || ++this.#pieces <= FREE_PIECES)) {
      super.onResponseData(flow, piece);
      return;
    }
    if (this.#held.length === 0) process.nextTick(() => this.#passLate(flow));
    this.#held.add(piece);
    if (++this.#pieces === MAX_PIECES_PER_TURN) flow.awaitTurn();
  }

  override onResponseEnd(_: Controller, trailers: IncomingHttpHeaders): void {
    this.#pass();
    super.onResponseEnd(this.#flow!, trailers);
  }

  override onResponseError(controller: Controller, error: Error): void {
    let first = error;
    try {
      this.#pass();
    } catch (late) {
      // The reader's error, which nobody above would take.
      first = late as Error;
    }
    super.onResponseError(this.#flow ?? controller, first);
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
    if (!this.#flow!.aborted) super.onResponseData(this.#flow!, joined);
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
