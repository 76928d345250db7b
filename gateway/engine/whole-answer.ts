/** An engine's JSON answer, read once and completed to OpenAI's schema. */
import { isObject } from '../../kit/json-object.ts';
import { ApiError, JSON_TYPE } from '../http/error-response.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Answer } from './answer.ts';
import { readUsage, type Usage } from './answer.ts';
import { findAbortion, findEngineError } from './engine-error.ts';

/** Embeddings of a large batch as JSON numbers. */
const MAX_ANSWER_BYTES = 256 * 1024 * 1024;

/** Most answers are smaller and need no account. */
const SMALL_BYTES = 1024 * 1024;
const BUSY_RETRY_SECONDS = 5;

/** Makes the engine's answer OpenAI's; answers whether it changed anything. */
export type Completion = (answer: Record<string, unknown>) => boolean;

export class WholeAnswer implements Answer {
  failure: ApiError | null = null;
  usage: Usage | null = null;
  readonly isComplete = false;
  readonly estimatedTokens = 0;
  readonly #exchange: Exchange;
  readonly #complete: Completion;
  readonly #reserve: (bytes: number) => boolean;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  /** `reserve`: asks for memory for a large answer's bytes; false where there is none left. */
  constructor(exchange: Exchange, complete: Completion, reserve: (bytes: number) => boolean = () => true) {
    this.#exchange = exchange;
    this.#complete = complete;
    this.#reserve = reserve;
  }

  write(chunk: Buffer): boolean {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes > SMALL_BYTES && !this.#reserve(chunk.length))
      this.failure = new ApiError(
        'temporarily_unavailable',
        'Too many large responses are in progress at the moment.',
        { retryAfter: BUSY_RETRY_SECONDS },
      );
    if (this.#bytes > MAX_ANSWER_BYTES)
      this.failure = new ApiError(
        'upstream_error',
        `The engine's response exceeds ${MAX_ANSWER_BYTES} bytes.`,
      );
    return true;
  }

  end(): ApiError | null {
    const body = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
    const text = body.toString('utf8');
    const answer = parseObject(text);
    if (!answer)
      return new ApiError('upstream_error', 'The engine returned something other than a JSON object.');
    const failure = findEngineError(answer) ?? findAbortion(answer);
    if (failure) return failure;
    this.usage = readUsage(answer.usage);
    const isChanged = this.#complete(answer);
    if (isChanged) this.#send(JSON.stringify(answer));
    else this.#send(text, body.length);
    return null;
  }

  /** As text, which Node writes together with the head. */
  #send(text: string, bytes = Buffer.byteLength(text)): void {
    const { res, headers } = this.#exchange;
    this.#exchange.firstByteAt = performance.now();
    res.writeHead(200, headers.concat('content-type', JSON_TYPE, 'content-length', String(bytes)));
    res.end(text);
  }
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
