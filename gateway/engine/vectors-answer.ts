/** vLLM's vectors as bytes, streamed through; the metadata that JSON would have is in a header. */
import type { IncomingHttpHeaders } from 'node:http';
import { isObject, type JSONObject } from '../../kit/json.ts';
import { ApiError } from '../http/error-response.ts';
import type { Exchange } from '../http/exchange.ts';
import { type Answer, readOpenAIUsage, roundUsage, type Usage } from './answer.ts';
import { BytesAnswer } from './bytes-answer.ts';
import { parseJSON } from './sse-frames.ts';

export interface VectorsAnswerOptions {
  /** Replaces the engine's own model name. */
  modelId: string;
  /** Whether the client wants the header, too. */
  isDescribed: boolean;
}

const METADATA = 'metadata';
const TYPE = 'application/octet-stream';

export class VectorsAnswer implements Answer {
  usage: Usage | null = null;
  readonly isComplete = false;
  readonly #exchange: Exchange;
  readonly #options: VectorsAnswerOptions;
  readonly #bytes: BytesAnswer;
  #failure: ApiError | null = null;

  constructor(exchange: Exchange, options: VectorsAnswerOptions) {
    this.#exchange = exchange;
    this.#options = options;
    this.#bytes = new BytesAnswer(exchange, {
      types: /^application\/octet-stream\s*(;|$)/,
      fallbackType: TYPE,
    });
  }

  get failure(): ApiError | null {
    return this.#failure ?? this.#bytes.failure;
  }

  /** Vectors are not output tokens. */
  get estimatedTokens(): number | null {
    return this.#bytes.bytes > 0 ? 0 : null;
  }

  begin(headers: IncomingHttpHeaders): void {
    this.#bytes.begin(headers);
    const metadata = parseJSON(String(headers[METADATA] ?? ''));
    if (!isObject(metadata)) {
      this.#failure = new ApiError(
        'upstream_error',
        'The engine returned vectors without saying what they are.',
      );
      return;
    }
    this.usage = readOpenAIUsage(metadata.usage);
    roundUsage(metadata.usage);
    if (this.#options.isDescribed) this.#exchange.headers.push(METADATA, this.#describe(metadata));
  }

  write(chunk: Buffer): boolean {
    return this.#failure ? true : this.#bytes.write(chunk);
  }

  end(): ApiError | null {
    return this.#failure ?? this.#bytes.end();
  }

  /** In ASCII, which all headers may have. */
  #describe(metadata: JSONObject): string {
    const text = JSON.stringify({ ...metadata, model: this.#options.modelId });
    return text.replace(/[^\x20-\x7e]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
  }
}
