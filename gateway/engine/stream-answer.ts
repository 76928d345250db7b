/** An engine's event stream, passed on as it comes. */
import { ApiError } from '../http/error-response.ts';
import { EventStream } from '../http/event-stream.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Answer, Usage } from './answer.ts';
import type { StreamWatch } from './stream-filter.ts';

export class StreamAnswer implements Answer {
  readonly #exchange: Exchange;
  readonly #filter: StreamWatch;

  constructor(exchange: Exchange, filter: StreamWatch) {
    this.#exchange = exchange;
    this.#filter = filter;
  }

  get failure(): ApiError | null {
    return this.#filter.failure;
  }

  get isComplete(): boolean {
    return this.#filter.isDone;
  }

  get usage(): Usage | null {
    return this.#filter.usage;
  }

  get estimatedTokens(): number {
    return this.#filter.estimatedTokens;
  }

  write(chunk: Buffer): boolean {
    const output = this.#filter.push(chunk);
    return output === null || this.#send(output);
  }

  end(): ApiError | null {
    const output = this.#filter.end();
    if (output) this.#send(output);
    if (!this.#filter.isDone)
      return (
        this.#filter.failure ??
        new ApiError('upstream_error', 'The engine ended the stream before it was complete.')
      );
    this.#exchange.stream!.end();
    return null;
  }

  /** The head waits for the first frame: until then an error can still have its own status. */
  #send(output: string): boolean {
    const exchange = this.#exchange;
    if (!exchange.stream) {
      exchange.firstByteAt = performance.now();
      exchange.stream = new EventStream(exchange.res, exchange.headers);
      if (this.#filter.events !== undefined) exchange.countEvents = () => this.#filter.events!;
    }
    return exchange.stream.write(output);
  }
}
