/**
 * A connection of a pool. A server may close an idle one just as the next request is written to it: that request is sent
 * once more, on a fresh connection (decision 0027).
 */
import type { Socket } from 'node:net';
import { type buildConnector, Client, type Dispatcher } from 'undici';
import { readConnectionFailure } from '../../kit/connection-error.ts';
import { canSendAgain } from '../../kit/kept-body.ts';
import { type Controller, type Handler, PassingHandler } from '../../kit/passing-handler.ts';

export class ResendingClient extends Client {
  readonly #onResend: () => void;
  /** The latest one. */
  connected: Socket | null = null;

  constructor(origin: URL, options: Client.Options, onResend: () => void) {
    const connect = options.connect as buildConnector.connector;
    super(origin, {
      ...options,
      connect: (target, done) =>
        connect(target, (...[error, socket]) => {
          this.connected = socket;
          if (error) done(error, null);
          else done(null, socket);
        }),
    });
    this.#onResend = onResend;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Handler): boolean {
    return super.dispatch(
      options,
      canSendAgain(options.body) ? new Attempts(handler, this, options) : handler,
    );
  }

  resend(options: Dispatcher.DispatchOptions, attempts: Attempts): void {
    this.#onResend();
    super.dispatch(options, attempts);
  }
}

class Attempts extends PassingHandler {
  readonly #client: ResendingClient;
  readonly #options: Dispatcher.DispatchOptions;
  /** That the request was written to. */
  #socket: Socket | null = null;
  /** By then. */
  #bytesRead = 0;
  #firstError: Error | null = null;
  /** The first attempt. */
  #wasSent = false;

  constructor(handler: Handler, client: ResendingClient, options: Dispatcher.DispatchOptions) {
    super(handler);
    this.#client = client;
    this.#options = options;
  }

  override onRequestStart(controller: Controller, context: unknown): void {
    this.#socket = this.#client.connected;
    this.#bytesRead = this.#socket?.bytesRead ?? 0;
    super.onRequestStart(controller, context);
  }

  override onResponseError(controller: Controller, error: Error): void {
    if (this.#firstError === null && this.#wasClosedIdle(error)) {
      this.#firstError = error;
      this.#wasSent = this.#socket !== null;
      this.#socket = null;
      // The client takes no request while it reports an error.
      queueMicrotask(() => this.#client.resend(this.#options, this));
      return;
    }
    // Whether the first attempt was served is unknown: a second one that was not sent does not change that.
    const isUnknown = this.#wasSent && this.#socket === null;
    super.onResponseError(controller, isUnknown ? this.#firstError! : error);
  }

  /** Reused, and broken before any byte of an answer. Without a socket, nothing was written at all. */
  #wasClosedIdle(error: Error): boolean {
    if (readConnectionFailure(error) !== 'lost') return false;
    if (this.#socket === null) return true;
    return this.#bytesRead > 0 && this.#socket.bytesRead === this.#bytesRead;
  }
}
