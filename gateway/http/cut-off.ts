/** Refuses new requests and ends those in flight when a gateway must stop: with the envelope, not a broken connection. */
import type { ServerResponse } from 'node:http';
import type { ApiError } from './error-response.ts';
import type { Exchange, GatewayMiddleware } from './exchange.ts';

export class CutOff {
  readonly #exchanges = new WeakMap<ServerResponse, Exchange>();
  #reason: ApiError | null = null;

  /** Below what answers errors, above all that takes time. */
  readonly middleware: GatewayMiddleware = ({ state: { exchange } }, next) => {
    if (this.#reason) throw this.#reason;
    this.#exchanges.set(exchange.res, exchange);
    return next();
  };

  get isRefusing(): boolean {
    return this.#reason !== null;
  }

  /** From now on this is the answer to every request. */
  refuse(reason: ApiError): void {
    this.#reason = reason;
  }

  /** Ends these answers, streams that have begun by the error's event. */
  end(responses: Iterable<ServerResponse>, reason: ApiError): void {
    for (const response of responses) this.#exchanges.get(response)?.cancel(reason);
  }
}
