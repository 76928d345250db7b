/** One request through the guarded connections, until its answer is read or its time is over. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { VERSION } from '../../api/names.ts';
import type { Allowance } from './allowance.ts';
import { EgressError, toEgressError } from './egress-error.ts';

export interface EgressAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  /** Never to be shown to a tenant as it is. */
  body: Buffer;
  /** The answer was longer than allowed; `body` is its beginning, or empty. */
  isTruncated: boolean;
}

export interface EgressCallOptions {
  method: 'GET' | 'POST';
  headers?: Record<string, string>;
  body?: Buffer;
  allowance: Allowance;
  /** The status is all that is asked for: a body that breaks off, or does not end in time, takes nothing from it. */
  isStatusEnough?: boolean;
}

const HEADERS = { 'user-agent': `Berth/${VERSION}`, 'accept-encoding': 'identity' };

export class EgressCall implements Dispatcher.DispatchHandler {
  readonly #url: URL;
  readonly #options: EgressCallOptions;
  readonly #signal: AbortSignal;
  #controller: Dispatcher.DispatchController | null = null;
  #settle: ((answer: EgressAnswer | EgressError) => void) | null = null;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  readonly #chunks: Buffer[] = [];

  /** `signal`: aborted with an EgressError. */
  constructor(url: URL, options: EgressCallOptions, signal: AbortSignal) {
    this.#url = url;
    this.#options = options;
    this.#signal = signal;
  }

  /** Once only. Throws EgressError. */
  send(pool: Dispatcher): Promise<EgressAnswer> {
    return new Promise((resolve, reject) => {
      const onAbort = () => this.#end(this.#signal.reason);
      this.#settle = (outcome) => {
        this.#settle = null;
        this.#signal.removeEventListener('abort', onAbort);
        if (!(outcome instanceof EgressError)) resolve(outcome);
        else if (this.#options.isStatusEnough && this.#status !== 0) resolve(this.#answer(true));
        else reject(outcome);
      };
      this.#signal.addEventListener('abort', onAbort, { once: true });
      const { pathname, search } = this.#url;
      const { method, headers, body } = this.#options;
      const path = pathname + search;
      pool.dispatch({ path, method, headers: { ...HEADERS, ...headers }, body }, this);
    });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // The time was over before a connection stood.
    if (!this.#settle) controller.abort(new EgressError('aborted'));
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    this.#status = status;
    this.#headers = headers;
    if (Number(headers['content-length'] ?? 0) > this.#options.allowance.left) this.#end(this.#answer(true));
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#settle) return;
    if (this.#options.allowance.take(chunk.length)) this.#chunks.push(chunk);
    else this.#end(this.#answer(true));
  }

  onResponseEnd(): void {
    this.#settle?.(this.#answer(false));
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#settle?.(toEgressError(error));
  }

  #answer(isTruncated: boolean): EgressAnswer {
    return { status: this.#status, headers: this.#headers, body: Buffer.concat(this.#chunks), isTruncated };
  }

  /** Before the answer's own end. */
  #end(outcome: EgressAnswer | EgressError): void {
    this.#settle?.(outcome);
    this.#controller?.abort(new EgressError('aborted'));
  }
}
