/** One HTTP exchange: waits that end when the client disconnects, and writes with backpressure. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { EngineError } from './errors.ts';
import type { Slots } from './slots.ts';

/** The client disconnected: the work is aborted. */
export class ClientDisconnectedError extends Error {}

export interface CallOptions {
  /** The body of a refusal. */
  describeError: (error: EngineError) => object | string;
  /** Called once with whether the client disconnected before its response was complete. */
  onClose: (isAborted: boolean) => void;
}

export class Call {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly #options: CallOptions;
  #isClosed = false;
  /** We closed the connection ourselves: the client did not disconnect. */
  #isCut = false;
  #giveUp: (() => void) | null = null;

  constructor(request: IncomingMessage, response: ServerResponse, options: CallOptions) {
    this.request = request;
    this.response = response;
    this.#options = options;
    response.once('close', () => this.#close());
    response.on('error', () => {});
  }

  sendJSON(status: number, body: object): void {
    this.sendText(status, JSON.stringify(body), 'application/json');
  }

  sendText(status: number, text: string, type = 'text/plain; charset=utf-8'): void {
    this.response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(text) });
    this.response.end(text);
  }

  sendRefusal(refusal: EngineError): void {
    const body = this.#options.describeError(refusal);
    if (typeof body === 'string') this.sendText(refusal.status, body);
    else this.sendJSON(refusal.status, body);
  }

  sendBytes(bytes: Buffer, type: string): void {
    this.response.writeHead(200, { 'content-type': type, 'content-length': bytes.length });
    this.response.end(bytes);
  }

  /** Resolves `until` this moment of performance.now(), or after the next turn of the event loop; at once when hurried. */
  wait(until: number, cutShort?: AbortSignal): Promise<void> {
    return this.#pause((resume) => {
      const ms = until - performance.now();
      if (ms <= 0 || cutShort?.aborted) {
        const turn = setImmediate(resume);
        return () => clearImmediate(turn);
      }
      const stop = (): void => {
        clearTimeout(timer);
        cutShort?.removeEventListener('abort', end);
      };
      const end = (): void => {
        stop();
        resume();
      };
      const timer = setTimeout(end, ms);
      cutShort?.addEventListener('abort', end);
      return stop;
    });
  }

  waitForSlot(slots: Slots): Promise<void> {
    return this.#pause((resume) => slots.enter(resume));
  }

  waitForClose(): Promise<never> {
    return this.#pause(() => () => {}) as Promise<never>;
  }

  /** Sends a piece with backpressure. */
  async write(piece: string | Buffer): Promise<void> {
    if (this.response.write(piece)) return;
    await this.#pause((resume) => {
      this.response.once('drain', resume);
      return () => this.response.off('drain', resume);
    });
  }

  /** Closes the connection, after `last` has been sent. */
  cut(last?: string | Buffer): void {
    this.#isCut = true;
    const destroy = (): void => void this.response.destroy();
    if (last === undefined) destroy();
    else this.response.write(last, destroy);
  }

  /** `begin` starts a wait and returns its cancel function; the wait throws ClientDisconnectedError when the client disconnects. */
  #pause(begin: (resume: () => void) => () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(new ClientDisconnectedError());
      const stop = begin(() => {
        this.#giveUp = null;
        resolve();
      });
      this.#giveUp = () => {
        stop();
        reject(new ClientDisconnectedError());
      };
    });
  }

  #close(): void {
    this.#isClosed = true;
    this.#options.onClose(!this.response.writableFinished && !this.#isCut);
    this.#giveUp?.();
  }
}
