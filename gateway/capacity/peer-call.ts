/** One request to a peer whose response is only a head. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';

export interface PeerQuestion {
  path: string;
  headers: Record<string, string>;
  timeoutMs: number;
  /** Signal of the caller. */
  signal: AbortSignal;
}

export interface PeerHead {
  status: number;
  headers: IncomingHttpHeaders;
}

/** The peer timed out. */
export class PeerTimeoutError extends Error {
  override readonly name = 'TimeoutError';
}

/** Limit for anything that claims to be a peer. */
const MAX_BODY_BYTES = 16 * 1024;

/** Rejects with PeerTimeoutError, the signal's reason, or the error of the connection. */
export const askPeer = (pool: Dispatcher, question: PeerQuestion): Promise<PeerHead> =>
  new Promise((resolve, reject) => new PeerCall(question, { resolve, reject }).dispatch(pool));

/** The peer's whole response has to arrive in time, though only its head is awaited. */
class PeerCall implements Dispatcher.DispatchHandler {
  readonly #question: PeerQuestion;
  readonly #resolve: (head: PeerHead) => void;
  readonly #reject: (error: unknown) => void;
  readonly #timer: NodeJS.Timeout;
  #controller: Dispatcher.DispatchController | null = null;
  #givenUp: Error | null = null;
  #bytes = 0;
  #isOver = false;

  constructor(
    question: PeerQuestion,
    { resolve, reject }: { resolve: (head: PeerHead) => void; reject: (error: unknown) => void },
  ) {
    this.#question = question;
    this.#resolve = resolve;
    this.#reject = reject;
    // Timers run before sockets are read: the answer may have come while this process stood still.
    this.#timer = setTimeout(() => setImmediate(this.#expire), question.timeoutMs);
    question.signal.addEventListener('abort', this.#onAbort);
  }

  dispatch(pool: Dispatcher): void {
    const { path, headers, signal } = this.#question;
    if (signal.aborted) this.#onAbort();
    else pool.dispatch({ path, method: 'POST', headers }, this);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#givenUp) controller.abort(this.#givenUp);
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status >= 200) this.#resolve({ status, headers });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > MAX_BODY_BYTES) controller.abort(new Error("The peer's response is too long."));
  }

  onResponseEnd(): void {
    this.#stop();
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#stop();
    this.#reject(this.#givenUp ?? error);
  }

  readonly #expire = () => {
    if (!this.#isOver) this.#giveUp(new PeerTimeoutError('The peer took too long.'));
  };

  readonly #onAbort = () => this.#giveUp(this.#question.signal.reason as Error);

  #giveUp(reason: Error): void {
    this.#stop();
    this.#givenUp = reason;
    this.#reject(reason);
    this.#controller?.abort(reason);
  }

  #stop(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#question.signal.removeEventListener('abort', this.#onAbort);
  }
}
