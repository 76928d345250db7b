/** A replica's response on its way to the client. An event stream whose replica is lost ends with an error event (docs/api.md, "Streaming"). */
import type { IncomingHttpHeaders } from 'node:http';
import { formatErrorEvent } from '../http/error-event.ts';
import { ApiError } from '../http/error-response.ts';
import type { Exchange } from '../http/exchange.ts';
import { PlainAnswer } from '../upstream/relay.ts';
import { WholeEvents } from './whole-events.ts';

export class RelayedAnswer extends PlainAnswer {
  readonly #exchange: Pick<Exchange, 'req' | 'res' | 'requestId'>;
  /** null for other responses. */
  #events: WholeEvents | null = null;

  constructor(exchange: Pick<Exchange, 'req' | 'res' | 'requestId'>) {
    super(exchange);
    this.#exchange = exchange;
  }

  override begin(status: number, headers: IncomingHttpHeaders): void {
    if (isEventStream(headers)) this.#events = new WholeEvents();
    super.begin(status, headers);
  }

  override write(chunk: Buffer): boolean {
    const whole = this.#events ? this.#events.push(chunk) : chunk;
    return whole.length === 0 || super.write(whole);
  }

  override end(): void {
    if (this.#events && this.#events.rest.length > 0) super.write(this.#events.rest);
    super.end();
  }

  /** After part of an event, only a broken connection says that it is not complete. */
  override break(): void {
    const { res } = this.#exchange;
    if (!this.#events || this.#events.isCut || res.destroyed) super.break();
    else res.end(formatErrorEvent(describeLoss(), this.#exchange));
  }
}

export const isEventStream = (headers: IncomingHttpHeaders): boolean =>
  headers['content-type']?.startsWith('text/event-stream') === true;

/** For a replica whose response had started. */
export const describeLoss = () =>
  new ApiError('upstream_error', 'The replica was lost before its response was complete.');
