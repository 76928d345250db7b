/** One request to an engine: dispatched, watched and ended exactly once in every case. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { isNotConnected } from '../../kit/connection-error.ts';
import { GrowingBuffer } from '../../kit/growing-buffer.ts';
import { toDispatchBody } from '../../kit/kept-body.ts';
import { UNSENT_HEADER } from '../capacity/peer-protocol.ts';
import { ApiError } from '../http/error-response.ts';
import type { Exchange } from '../http/exchange.ts';
import { canResend, type EngineBody } from '../upstream/engine-request.ts';
import type { Answer } from './answer.ts';
import {
  AdapterMissingError,
  describeConnectionLoss,
  EngineUnreachableError,
  isUnknownModel,
  PeerLostError,
  readEngineError,
} from './engine-error.ts';

/** Connections to one engine or peer. */
export type EnginePool = Dispatcher;

export interface EngineCallOptions {
  exchange: Exchange;
  pool: EnginePool;
  path: string;
  /** Alternating names and values; the length of a buffer is sent without one. */
  headers: readonly string[];
  body: EngineBody;
  answer: Answer;
  /** Whether the client waits for an event stream. */
  isStream: boolean;
  /** Whether another replica relays to its engine. */
  isPeer?: boolean;
  /** Whether it is asked for a LoRA adapter, which it may have lost. */
  isForAdapter?: boolean;
  /** The engine has finished or was aborted: its slot is free. Called before the client sees the end. */
  onRelease: () => void;
  /** Once, right before the promise is settled. */
  onEnd?: (error: Error | null) => void;
}

const MAX_ERROR_BYTES = 64 * 1024;

/** Resolves when the answer is complete. Rejects with ApiError, which is the caller's to report, or ClientDisconnectedError. */
export const callEngine = (options: EngineCallOptions): Promise<void> =>
  new Promise((resolve, reject) => {
    const end = (error: Error | null) => (error ? reject(error) : resolve());
    new EngineCall(options, end).dispatch();
  });

class EngineCall implements Dispatcher.DispatchHandler {
  readonly #options: EngineCallOptions;
  readonly #onEnd: (error: Error | null) => void;
  #controller: Dispatcher.DispatchController | null = null;
  /** 0: none, or an invalid one. */
  #status = 0;
  #hasResponded = false;
  /** A peer reports that it could not connect to its engine. */
  #isUnsent = false;
  /** Collects an error response. */
  readonly #errorBody = new GrowingBuffer();
  #attempts = 0;
  #isOver = false;
  #isWaiting = false;
  #stopListening = () => {};

  constructor(options: EngineCallOptions, onEnd: (error: Error | null) => void) {
    this.#options = options;
    this.#onEnd = onEnd;
  }

  dispatch(): void {
    const { exchange, pool, path, headers, body } = this.#options;
    if (this.#attempts++ === 0) this.#stopListening = exchange.onCancel((reason) => this.#cancel(reason));
    if (this.#isOver) return;
    try {
      const options = {
        path,
        method: 'POST',
        headers: headers as string[],
        body: toDispatchBody(body),
      } as const;
      pool.dispatch(options, this);
    } catch (error) {
      if (!this.#isOver) this.#end(error as Error);
    }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isOver) controller.abort(new Error('given up'));
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    this.#status = status;
    this.#hasResponded = true;
    this.#isUnsent = this.#options.isPeer === true && headers[UNSENT_HEADER] !== undefined;
    if (status === 200) this.#options.answer.begin?.(headers);
    if (status !== 200 || !this.#options.isStream) return;
    const type = headers['content-type'] ?? '';
    if (type.startsWith('text/event-stream')) return;
    // SDKs would take it for an empty stream.
    this.#status = 0;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isOver) return;
    const { answer } = this.#options;
    if (this.#status !== 200) {
      this.#errorBody.add(chunk.subarray(0, MAX_ERROR_BYTES - this.#errorBody.length));
      return;
    }
    const canTakeMore = answer.write(chunk);
    if (answer.isComplete) this.#options.onRelease();
    if (answer.failure) {
      this.#end(answer.failure);
      controller.abort(new Error('response discarded'));
    } else if (!canTakeMore) this.#wait(controller);
  }

  onResponseEnd(): void {
    if (this.#isOver) return;
    if (this.#status !== 200) {
      this.#end(this.#readError());
      return;
    }
    this.#options.onRelease();
    const outcome = this.#endAnswer();
    if (!(outcome instanceof Promise)) {
      this.#end(outcome);
      return;
    }
    // The connection may have the next request by now.
    this.#controller = null;
    const end = (error: ApiError | null) => {
      if (!this.#isOver) this.#end(error);
    };
    outcome.then(end, end);
  }

  #endAnswer(): ReturnType<Answer['end']> | Error {
    try {
      return this.#options.answer.end();
    } catch (error) {
      return error as Error;
    }
  }

  onResponseError(_: Dispatcher.DispatchController, cause: Error): void {
    if (this.#isOver) return;
    if (canResend(cause, this.#attempts)) {
      this.dispatch();
      return;
    }
    if (this.#options.answer.isComplete) this.onResponseEnd();
    else this.#end(this.#describeLoss(cause));
  }

  #describeLoss(cause: Error): ApiError {
    if (this.#options.isPeer && !this.#hasResponded && !isNotConnected(cause)) return new PeerLostError();
    return describeConnectionLoss(cause, this.#hasResponded);
  }

  #readError(): ApiError {
    if (this.#isUnsent) return new EngineUnreachableError();
    if (this.#status === 0) {
      const error = readEngineError(500, this.#errorBody.read());
      return new ApiError(
        'upstream_error',
        `The engine did not stream its response. ${error.message}`.slice(0, 300),
        { logMessage: 'The engine did not stream its response.' },
      );
    }
    const body = this.#errorBody.read();
    if (this.#options.isForAdapter && isUnknownModel(this.#status, body)) return new AdapterMissingError();
    return readEngineError(this.#status, body);
  }

  #wait(controller: Dispatcher.DispatchController): void {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    controller.pause();
    this.#options.exchange.res.once('drain', () => {
      this.#isWaiting = false;
      controller.resume();
    });
  }

  #cancel(reason: Error): void {
    if (this.#isOver) return;
    this.#end(reason);
    this.#controller?.abort(reason);
  }

  #end(error: Error | null): void {
    this.#isOver = true;
    this.#stopListening();
    this.#options.onRelease();
    this.#options.onEnd?.(error);
    this.#onEnd(error);
  }
}
