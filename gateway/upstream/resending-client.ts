/**
 * A connection of a pool. A server may close an idle one just as the next request is written to it: that request is sent
 * once more, on a fresh connection.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { type buildConnector, Client, type Dispatcher } from 'undici';
import { readConnectionFailure } from '../../kit/connection-error.ts';

type Handler = Dispatcher.DispatchHandler;
type Controller = Dispatcher.DispatchController;

/** A body that can be sent again: its parts are read anew each time. */
export class KeptBody {
  readonly #open: () => AsyncIterator<Buffer>;

  constructor(open: () => AsyncIterator<Buffer>) {
    this.#open = open;
  }

  [Symbol.asyncIterator](): AsyncIterator<Buffer> {
    return this.#open();
  }
}

/** Undici's types know no iterables. */
export const toDispatchBody = (body: Buffer | AsyncIterable<Buffer>): Buffer | Readable =>
  body as Buffer | Readable;

const isKept = (body: unknown): boolean =>
  body === undefined || body === null || Buffer.isBuffer(body) || body instanceof KeptBody;

export class ResendingClient extends Client {
  readonly #onResend: () => void;
  #socket: Socket | null = null;

  constructor(origin: URL, options: Client.Options, onResend: () => void) {
    const connect = options.connect as buildConnector.connector;
    super(origin, {
      ...options,
      connect: (target, done) =>
        connect(target, (...[error, socket]) => {
          this.#socket = socket;
          if (error) done(error, null);
          else done(null, socket);
        }),
    });
    this.#onResend = onResend;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Handler): boolean {
    if (!isKept(options.body)) return super.dispatch(options, handler);
    const attempts = new Attempts(handler, {
      socket: () => this.#socket,
      resend: () => {
        this.#onResend();
        super.dispatch(options, attempts);
      },
    });
    return super.dispatch(options, attempts);
  }
}

interface Connection {
  /** The latest one. */
  socket: () => Socket | null;
  resend: () => void;
}

class Attempts implements Handler {
  readonly #handler: Handler;
  readonly #connection: Connection;
  /** That the request was written to. */
  #socket: Socket | null = null;
  /** By then. */
  #bytesRead = 0;
  #firstError: Error | null = null;
  /** The first attempt. */
  #wasSent = false;

  constructor(handler: Handler, connection: Connection) {
    this.#handler = handler;
    this.#connection = connection;
  }

  onRequestStart(controller: Controller, context: unknown): void {
    this.#socket = this.#connection.socket();
    this.#bytesRead = this.#socket?.bytesRead ?? 0;
    this.#handler.onRequestStart?.(controller, context);
  }

  onRequestUpgrade(...args: Parameters<NonNullable<Handler['onRequestUpgrade']>>): void {
    this.#handler.onRequestUpgrade?.(...args);
  }

  onResponseStart(
    controller: Controller,
    status: number,
    headers: IncomingHttpHeaders,
    message?: string,
  ): void {
    this.#handler.onResponseStart?.(controller, status, headers, message);
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    this.#handler.onResponseData?.(controller, chunk);
  }

  onResponseEnd(controller: Controller, trailers: IncomingHttpHeaders): void {
    this.#handler.onResponseEnd?.(controller, trailers);
  }

  onResponseError(controller: Controller, error: Error): void {
    if (this.#firstError === null && this.#wasClosedIdle(error)) {
      this.#firstError = error;
      this.#wasSent = this.#socket !== null;
      this.#socket = null;
      // The client takes no request while it reports an error.
      queueMicrotask(this.#connection.resend);
      return;
    }
    // Whether the first attempt was served is unknown: a second one that was not sent does not change that.
    const isUnknown = this.#wasSent && this.#socket === null;
    this.#handler.onResponseError?.(controller, isUnknown ? this.#firstError! : error);
  }

  /** Reused, and broken before any byte of an answer. Without a socket, nothing was written at all. */
  #wasClosedIdle(error: Error): boolean {
    if (readConnectionFailure(error) !== 'lost') return false;
    if (this.#socket === null) return true;
    return this.#bytesRead > 0 && this.#socket.bytesRead === this.#bytesRead;
  }
}
