/** An engine's JSON response, read once and completed to OpenAI's schema. */
import { isAscii, isUtf8 } from 'node:buffer';
import { isObject, type JSONObject } from '../../kit/json.ts';
import { writeInSlices } from '../../kit/json-slices.ts';
import type { Steps } from '../../kit/loop-turns.ts';
import type { TokenUsage } from '../account/account.ts';
import { ApiError, JSON_TYPE } from '../http/error-response.ts';
import type { Exchange } from '../http/exchange.ts';
import { type Answer, roundUsage } from './answer.ts';
import { AnswerBody, type Reserve } from './answer-body.ts';
import { findAbortedError, findEngineError } from './engine-error.ts';

/** Larger ones are parsed in turns. */
const MAX_AT_ONCE_BYTES = 64 * 1024;

/** Completes the engine's response to OpenAI's schema; returns whether it changed anything. Throws ApiError. */
export type Completion = (answer: JSONObject) => boolean;
/** Translates the response of an engine with its own API; null if it is invalid. Throws ApiError. */
export type Reading = (answer: unknown) => JSONObject | null;

export interface WholeAnswerOptions {
  /** Absent: the engine's response is sent unchanged. */
  read?: Reading | undefined;
  complete: Completion;
  readUsage: (usage: unknown) => TokenUsage | null;
  /** If the engine reports no usage; absent: not charged by tokens. */
  estimateOutput?: ((answer: JSONObject) => number) | undefined;
  /** Absent: JSON. */
  write?(answer: JSONObject): { text: string; type: string } | null;
  reserve?: Reserve;
  /** For large responses; absent: they are read at once. */
  turns?: AnswerTurns | undefined;
}

/** Turns of whoever gets the response. */
export interface AnswerTurns {
  run<T>(steps: Steps<T>): Promise<T>;
  parse(body: Buffer): Steps<unknown>;
}

export class WholeAnswer implements Answer {
  failure: ApiError | null = null;
  usage: TokenUsage | null = null;
  readonly isComplete = false;
  estimatedTokens: number | null = null;
  readonly #exchange: Exchange;
  readonly #options: WholeAnswerOptions;
  #body: AnswerBody;

  constructor(exchange: Exchange, options: WholeAnswerOptions) {
    this.#exchange = exchange;
    this.#options = options;
    this.#body = new AnswerBody(options.reserve);
  }

  restart(): void {
    this.failure = null;
    this.#body = new AnswerBody(this.#options.reserve);
  }

  write(chunk: Buffer): boolean {
    this.failure ??= this.#body.add(chunk);
    return true;
  }

  end(): ApiError | null | Promise<ApiError | null> {
    const body = this.#body.read();
    const { turns } = this.#options;
    if (turns && body.length > MAX_AT_ONCE_BYTES) return turns.run(this.#endInTurns(turns, body));
    // ASCII, such as most English responses, is neither decoded nor encoded.
    const encoding = isAscii(body) ? 'latin1' : 'utf8';
    const text = body.toString(encoding);
    const { failure, answer, isChanged } = this.#read(parse(text));
    if (failure) return failure;
    const written = this.#options.write?.(answer);
    if (written) this.#send(written.text, { type: written.type });
    else if (isChanged) this.#send(JSON.stringify(answer));
    else this.#send(text, { encoding });
    return null;
  }

  *#endInTurns(turns: AnswerTurns, received: Buffer): Steps<ApiError | null> {
    // Clients fail at what is no UTF-8; as text, it has U+FFFD.
    const body = isUtf8(received) ? received : Buffer.from(received.toString());
    const parsed = yield* turns.parse(body);
    const { failure, answer, isChanged } = this.#read(parsed);
    if (failure) return failure;
    const written = this.#options.write?.(answer);
    if (written) this.#send(written.text, { type: written.type });
    else if (isChanged) this.#send(yield* writeInSlices(answer));
    else this.#send(body);
    return null;
  }

  #read(parsed: unknown): Read {
    const { read, complete, readUsage, estimateOutput } = this.#options;
    const failure = findEngineError(parsed) ?? (isObject(parsed) ? findAbortedError(parsed) : null);
    if (failure) return { failure };
    const answer = read ? read(parsed) : isObject(parsed) ? parsed : null;
    if (!answer)
      return {
        failure: new ApiError(
          'upstream_error',
          `The engine returned something other than ${read ? 'the answer to the request' : 'a JSON object'}.`,
        ),
      };
    const isCompleted = complete(answer);
    this.usage = readUsage(answer.usage);
    if (!this.usage && estimateOutput) this.estimatedTokens = estimateOutput(answer);
    const isRounded = this.usage !== null && roundUsage(answer.usage);
    return { failure: null, answer, isChanged: isCompleted || isRounded || read !== undefined };
  }

  /** As a string, which Node writes together with the head. */
  #send(
    text: string | Buffer,
    { type = JSON_TYPE, encoding = 'utf8' }: { type?: string; encoding?: 'utf8' | 'latin1' } = {},
  ): void {
    const { res, headers } = this.#exchange;
    this.#exchange.firstByteAt = performance.now();
    const receipt = this.#exchange.account.receiptHeaders();
    const length = String(typeof text === 'string' ? Buffer.byteLength(text, encoding) : text.length);
    res.writeHead(200, headers.concat(receipt, 'content-type', type, 'content-length', length));
    res.end(text, encoding);
  }
}

/** `isChanged`: not what the engine sent. */
type Read =
  | { failure: ApiError; answer?: never; isChanged?: never }
  | { failure: null; answer: JSONObject; isChanged: boolean };

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
