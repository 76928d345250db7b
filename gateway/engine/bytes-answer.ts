/** An engine's binary response, such as audio, streamed through. */
import type { IncomingHttpHeaders } from 'node:http';
import { ApiError } from '../http/error-response.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Answer } from './answer.ts';

export interface BytesAnswerOptions {
  /** Content types accepted from the engine as they are. */
  types: RegExp;
  /** Used for any other content type. */
  fallbackType: string;
}

export class BytesAnswer implements Answer {
  failure: ApiError | null = null;
  readonly isComplete = false;
  readonly usage = null;
  readonly estimatedTokens = null;
  /** Bytes sent. */
  bytes = 0;
  readonly #exchange: Exchange;
  readonly #options: BytesAnswerOptions;
  #head: string[] = [];

  constructor(exchange: Exchange, options: BytesAnswerOptions) {
    this.#exchange = exchange;
    this.#options = options;
  }

  begin({ 'content-type': type = '', 'content-length': length }: IncomingHttpHeaders): void {
    const { types, fallbackType } = this.#options;
    if (/^(application\/(\w+\+)?json|text\/html)/i.test(type))
      this.failure = new ApiError('upstream_error', `The engine returned ${type.slice(0, 50)}, not bytes.`);
    // With a length, a client detects an interrupted response.
    this.#head = [
      'content-type',
      types.test(type) ? type : fallbackType,
      ...(length === undefined ? [] : ['content-length', length]),
    ];
  }

  write(chunk: Buffer): boolean {
    const { res, headers } = this.#exchange;
    if (this.failure) return true;
    if (this.bytes === 0) {
      this.#exchange.firstByteAt = performance.now();
      this.bytes = chunk.length;
      res.writeHead(200, headers.concat(this.#exchange.account.receiptHeaders(), this.#head));
    } else this.bytes += chunk.length;
    return res.write(chunk);
  }

  end(): ApiError | null {
    if (this.failure) return this.failure;
    if (this.bytes === 0) return new ApiError('upstream_error', 'The engine returned an empty response.');
    this.#exchange.res.end();
    return null;
  }
}
