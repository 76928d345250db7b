/** One request to the engine and its response. */
import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import { type Dispatcher, errors } from 'undici';
import { readConnectionFailure } from '../../kit/connection-error.ts';
import type { Controller, Handler } from '../../kit/passing-handler.ts';
import type { CarriedExchange, EngineConnection } from './engine-connection.ts';
import { type RequestHead, writeRequestHead } from './request-head.ts';
import { KeptBody } from './resending-client.ts';

type Body = Buffer | AsyncIterable<Uint8Array> | null;
/** Longer bodies are not copied behind their head. */
const SMALL_BYTES = 16 * 1024;

/** Where exchanges get their connections. */
export interface ConnectionSource {
  onResend(): void;
  open(options: { isFresh: boolean }): EngineConnection;
}

export class EngineExchange implements Controller, CarriedExchange {
  readonly method: string;
  readonly #options: Dispatcher.DispatchOptions;
  readonly #handler: Handler;
  readonly #client: ConnectionSource;
  readonly #body: Body;
  #head: RequestHead | null = null;
  #connection: EngineConnection | null = null;
  #firstError: Error | null = null;
  #isSent = false;
  #isOver = false;
  #timer: NodeJS.Timeout | null = null;
  paused = false;
  aborted = false;
  reason: Error | null = null;
  readonly rawHeaders = null;
  readonly rawTrailers = null;

  constructor(options: Dispatcher.DispatchOptions, handler: Handler, client: ConnectionSource) {
    this.#options = options;
    this.#handler = handler;
    this.#client = client;
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
    this.#watch(0);
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
    const head = Buffer.from(this.#head!.text, 'latin1');
    const body = this.#body;
    this.#isSent = body === null || Buffer.isBuffer(body);
    if (body !== null && !Buffer.isBuffer(body)) {
      socket.write(head);
      this.#stream(body, connection).catch((error: Error) => connection.destroy(error));
    } else if (body === null) socket.write(head);
    else if (body.length <= SMALL_BYTES) socket.write(Buffer.concat([head, body]));
    else {
      socket.cork();
      socket.write(head);
      socket.write(body);
      socket.uncork();
    }
    if (this.#isSent) this.#watch(this.#options.headersTimeout);
  }

  /** By the connection, which is gone. */
  fail(error: Error): void {
    if (this.#isOver) return;
    const connection = this.#connection;
    this.#watch(0);
    if (connection && this.#canResend(error, connection)) {
      this.#firstError = error;
      this.#client.onResend();
      try {
        this.#connect({ isFresh: true });
        return;
      } catch {
        // The first error tells more.
      }
    }
    this.#isOver = true;
    if (this.#body instanceof Readable) this.#body.destroy(error);
    // Whether the first attempt was served is unknown: a second one that was not sent does not change that.
    const isUnsent = this.#firstError !== null && !this.#isSent && !this.aborted;
    this.#handler.onResponseError?.(this, isUnsent ? this.#firstError! : error);
  }

  takeHead(status: number, headers: IncomingHttpHeaders): void {
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
    this.#watch(0);
    this.#connection!.end({ canReuse: this.#isSent && this.method !== 'HEAD' });
    this.#handler.onResponseEnd?.(this, trailers);
  }

  #connect(options: { isFresh: boolean }): void {
    this.#isSent = false;
    this.#connection = this.#client.open(options);
    this.#connection.carry(this);
  }

  /** Reused, and broken before any byte of a response: the engine had closed it as idle (decision 0027). */
  #canResend(error: Error, { isReused, hasResponse }: EngineConnection): boolean {
    if (this.aborted || this.#firstError || !isReused || hasResponse) return false;
    const isKept = this.#body === null || Buffer.isBuffer(this.#body) || this.#body instanceof KeptBody;
    return isKept && readConnectionFailure(error) === 'lost';
  }

  async #stream(body: AsyncIterable<Uint8Array>, connection: EngineConnection): Promise<void> {
    const { socket } = connection;
    const { length } = this.#head!;
    let left = length ?? Number.POSITIVE_INFINITY;
    for await (const piece of body) {
      if (this.#isOver || this.#connection !== connection) return;
      const bytes = Buffer.from(piece);
      left -= bytes.length;
      if (left < 0) throw new errors.RequestContentLengthMismatchError();
      if (bytes.length === 0) continue;
      socket.cork();
      if (length === null) socket.write(`${bytes.length.toString(16)}\r\n`, 'latin1');
      let canTakeMore = socket.write(bytes);
      if (length === null) canTakeMore = socket.write('\r\n', 'latin1');
      socket.uncork();
      if (!canTakeMore) await awaitDrain(socket);
    }
    if (this.#isOver || this.#connection !== connection) return;
    if (length === null) socket.write('0\r\n\r\n', 'latin1');
    else if (left > 0) throw new errors.RequestContentLengthMismatchError();
    this.#isSent = true;
    if (!connection.hasResponse) this.#watch(this.#options.headersTimeout);
  }

  /** For the next byte of the response; none, or 0: as long as it takes. */
  #watch(ms: number | null | undefined): void {
    if (this.#timer) clearTimeout(this.#timer);
    const isBody = this.#connection?.hasResponse === true;
    const expire = () =>
      this.#connection?.destroy(isBody ? new errors.BodyTimeoutError() : new errors.HeadersTimeoutError());
    this.#timer = ms ? setTimeout(expire, ms) : null;
  }
}

/** Or until it is closed. */
const awaitDrain = (socket: EngineConnection['socket']): Promise<void> =>
  new Promise((resolve) => {
    const proceed = () => {
      socket.off('drain', proceed).off('close', proceed);
      resolve();
    };
    if (socket.destroyed) resolve();
    else socket.on('drain', proceed).on('close', proceed);
  });
