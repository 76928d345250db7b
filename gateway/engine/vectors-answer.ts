/** vLLM's vectors as bytes; the metadata that JSON would have is in a header. */
import type { IncomingHttpHeaders } from 'node:http';
import { isObject, type JSONObject } from '../../kit/json.ts';
import type { TokenUsage } from '../account/account.ts';
import { ApiError } from '../http/error-response.ts';
import type { Exchange } from '../http/exchange.ts';
import { type Answer, readOpenAIUsage, roundUsage } from './answer.ts';
import { AnswerBody, type Reserve } from './answer-body.ts';
import { parseJSON } from './sse-frames.ts';
import { checkVectors, type VectorsRequest } from './vectors.ts';

export interface VectorsAnswerOptions {
  /** Replaces the engine's own model name. */
  modelId: string;
  request: VectorsRequest;
  reserve: Reserve;
}

const METADATA = 'metadata';

export class VectorsAnswer implements Answer {
  usage: TokenUsage | null = null;
  /** Vectors are not output tokens. */
  estimatedTokens: number | null = null;
  failure: ApiError | null = null;
  readonly isComplete = false;
  readonly #exchange: Exchange;
  readonly #options: VectorsAnswerOptions;
  readonly #body: AnswerBody;
  #metadata: JSONObject = {};

  constructor(exchange: Exchange, options: VectorsAnswerOptions) {
    this.#exchange = exchange;
    this.#options = options;
    this.#body = new AnswerBody(options.reserve);
  }

  begin(headers: IncomingHttpHeaders): void {
    const metadata = parseJSON(String(headers[METADATA] ?? ''));
    if (isObject(metadata)) this.#metadata = metadata;
    else
      this.failure = new ApiError(
        'upstream_error',
        'The engine returned vectors without saying what they are.',
      );
  }

  write(chunk: Buffer): boolean {
    this.failure ??= this.#body.add(chunk);
    return true;
  }

  end(): ApiError | null {
    const { request } = this.#options;
    const bytes = this.#body.read();
    if (this.failure) return this.failure;
    checkVectors(bytes, this.#metadata.data, request);
    this.#send(bytes);
    return null;
  }

  #send(bytes: Buffer): void {
    const { res, headers } = this.#exchange;
    this.usage = readOpenAIUsage(this.#metadata.usage);
    this.estimatedTokens = 0;
    roundUsage(this.#metadata.usage);
    this.#exchange.firstByteAt = performance.now();
    res.writeHead(200, [
      ...headers,
      ...this.#exchange.account.receiptHeaders(),
      ...(this.#options.request.encoding === 'bytes' ? [METADATA, this.#describe()] : []),
      'content-type',
      'application/octet-stream',
      'content-length',
      String(bytes.length),
    ]);
    res.end(bytes);
  }

  /** In ASCII, which all headers may have. */
  #describe(): string {
    const text = JSON.stringify({ ...this.#metadata, model: this.#options.modelId });
    return text.replace(/[^\x20-\x7e]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
  }
}
