/** One request of Http1Client and its response. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import { type Dispatcher, errors } from 'undici';
import { readConnectionFailure } from './connection-error.ts';
import type { CarriedExchange, Http1Connection } from './http1-connection.ts';
import { type RequestHead, writeRequestHead } from './http1-request.ts';
import { canSendAgain } from './kept-body.ts';
import type { Controller, Handler } from './passing-handler.ts';

type Body = Buffer | AsyncIterable<Uint8Array> | null;
/** Longer bodies are not copied behind their head. */
const SMALL_BYTES = 16 * 1024;

/** Where exchanges get their connections. */
export interface ConnectionSource {
  onResend(): void;
  open(options: { isFresh: boolean }): Http1Connection;
}

export class Http1Exchange implements Controller, CarriedExchange {
  readonly method: string;
  readonly #options: Dispatcher.DispatchOptions;
  readonly #handler: Handler;
  readonly #source: ConnectionSource;
  readonly #body: Body;
  #head: RequestHead | null = null;
  #connection: Http1Connection | null = null;
  #firstError: Error | null = null;
  /** All of the request, on the current connection. */
  #isSent = false;
  #hasHead = false;
  #isOver = false;
  #timer: NodeJS.Timeout | null = null;
  paused = false;
  aborted = false;
  reason: Error | null = null;
  readonly rawHeaders = null;
  readonly rawTrailers = null;

  constructor(options: Dispatcher.DispatchOptions, handler: Handler, source: ConnectionSource) {
    this.#options = options;
    this.#handler = handler;
    this.#source = source;
    this.method = options.method;
    const { body } = options;
    this.#body = typeof body === 'string' ? Buffer.from(body) : ((body ?? null) as Body);
  }

  get isHalted(): boolean {
    return this.paused || this.#isOver;
  }

  begin(host: string): void {
    const body = this.#body;
    try {
      const bytes = body === null ? 0 : Buffer.isBuffer(body) ? body.length : null;
      this.#head = writeRequestHead(this.#options, host, bytes);
      this.#connect({ isFresh: false });
    } catch (error) {
      this.fail(error as Error);
    }
  }

  pause(): void {
    // The connection may have the next request by now.
    if (this.#isOver) return;
    this.paused = true;
    this.#connection?.socket.pause();
    this.#watch(null);
  }

  resume(): void {
    if (!this.paused || this.#isOver) return;
    this.paused = false;
    this.#watch(this.#options.bodyTimeout);
    this.#connection?.resume();
  }

  abort(reason: Error = new errors.RequestAbortedError()): void {
    if (this.#isOver) return;
    this.aborted = true;
    this.reason = reason;
    this.#connection?.destroy(reason);
  }

  /** The connection is established. */
  write(): void {
    const connection = this.#connection!;
    this.#handler.onRequestStart?.(this, null);
    if (this.#isOver) return;
    const { socket } = connection;
    const head = this.#head!.text;
    const body = this.#body;
    if (body !== null && !Buffer.isBuffer(body)) {
      socket.write(head, 'latin1');
      this.#stream(body, connection).catch((error: Error) => connection.destroy(error));
      return;
    }
    if (body === null) socket.write(head, 'latin1');
    else if (body.length <= SMALL_BYTES) socket.write(join(head, body));
    else {
      socket.cork();
      socket.write(head, 'latin1');
      socket.write(body);
      socket.uncork();
    }
    this.#isSent = true;
    this.#watch(this.#options.headersTimeout);
  }

  /** By the connection, which is gone. */
  fail(error: Error): void {
    if (this.#isOver) return;
    this.#watch(null);
    if (this.#canResend(error)) {
      this.#firstError = error;
      this.#source.onResend();
      try {
        this.#connect({ isFresh: true });
        return;
      } catch {
        // The first error tells more.
      }
    }
    this.#isOver = true;
    // Whether the first attempt was served is unknown: a second one that was not sent does not change that.
    const isUnsent = this.#firstError !== null && !this.#isSent && !this.aborted;
    this.#handler.onResponseError?.(this, isUnsent ? this.#firstError! : error);
  }

  takeHead(status: number, headers: IncomingHttpHeaders): void {
    this.#hasHead = true;
    this.#watch(this.#options.bodyTimeout);
    this.#handler.onResponseStart?.(this, status, headers, '');
  }

  takeData(piece: Buffer): void {
    this.#timer?.refresh();
    this.#handler.onResponseData?.(this, piece);
  }

  takeEnd(trailers: IncomingHttpHeaders): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#watch(null);
    this.#connection!.end({ canReuse: this.#isSent });
    try {
      this.#handler.onResponseEnd?.(this, trailers);
    } catch (error) {
      this.#handler.onResponseError?.(this, error as Error);
    }
  }

  #connect(options: { isFresh: boolean }): void {
    this.#isSent = false;
    this.#connection = this.#source.open(options);
    this.#connection.carry(this);
  }

  /** Reused, and broken before any byte of a response: the server had closed it as idle (decision 0027). */
  #canResend(error: Error): boolean {
    const connection = this.#connection;
    if (this.aborted || this.#firstError || !connection?.isReused || connection.hasResponse) return false;
    return canSendAgain(this.#body) && readConnectionFailure(error) === 'lost';
  }

  async #stream(body: AsyncIterable<Uint8Array>, connection: Http1Connection): Promise<void> {
    const { socket } = connection;
    const { length } = this.#head!;
    const isCurrent = () => !this.#isOver && this.#connection === connection;
    let left = length ?? Number.POSITIVE_INFINITY;
    for await (const piece of body) {
      if (!isCurrent()) return;
      left -= piece.length;
      if (left < 0) throw new errors.RequestContentLengthMismatchError();
      if (piece.length === 0) continue;
      socket.cork();
      if (length === null) socket.write(`${piece.length.toString(16)}\r\n`, 'latin1');
      let canTakeMore = socket.write(piece);
      if (length === null) canTakeMore = socket.write('\r\n', 'latin1');
      socket.uncork();
      if (canTakeMore) continue;
      if (!this.#hasHead) this.#watch(this.#options.headersTimeout);
      await awaitDrain(socket);
      if (isCurrent() && !this.#hasHead) this.#watch(null);
    }
    if (!isCurrent()) return;
    if (length === null) socket.write('0\r\n\r\n', 'latin1');
    else if (left > 0) throw new errors.RequestContentLengthMismatchError();
    this.#isSent = true;
    if (!this.#hasHead) this.#watch(this.#options.headersTimeout);
  }

  /** For the next byte of the response, or for the server to take more of the request; null: as long as it takes. */
  #watch(ms: number | null | undefined): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = ms ? setTimeout(() => this.#expire(), ms) : null;
  }

  #expire(): void {
    const error = this.#hasHead ? new errors.BodyTimeoutError() : new errors.HeadersTimeoutError();
    this.#connection!.destroy(error);
  }
}

/** In one buffer. */
function join(head: string, body: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(head.length + body.length);
  bytes.write(head, 'latin1');
  body.copy(bytes, head.length);
  return bytes;
}

/** Or until it is closed. */
const awaitDrain = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    const proceed = () => {
      socket.off('drain', proceed).off('close', proceed);
      resolve();
    };
    if (socket.destroyed) resolve();
    else socket.on('drain', proceed).on('close', proceed);
  });
