/** An engine's event stream of JSON, whose events are translated to the endpoint's. */
import { isObject, type JSONObject } from '../../kit/json.ts';
import { ApiError } from '../http/error-response.ts';
import { toBytesText } from '../http/event-stream.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Answer } from './answer.ts';
import { findAbortedError, findEngineError } from './engine-error.ts';
import { parseJSON, readFrame, SseFrames } from './sse-frames.ts';
import { FRAME_TOO_LONG } from './stream-answer.ts';

export interface EventConversion {
  /** Translates one of the engine's events. Throws ApiError for an invalid one. */
  convert(event: JSONObject): object[];
  /** Whether it is the engine's last, which completes the stream, as `[DONE]` does. */
  isLast?(event: JSONObject): boolean;
  /** The events that end the stream. */
  finish(): object[];
}

const DONE = '[DONE]';

export class EventAnswer implements Answer {
  failure: ApiError | null = null;
  isComplete = false;
  readonly usage = null;
  readonly estimatedTokens = null;
  /** Bytes sent. */
  events = 0;
  readonly #exchange: Exchange;
  readonly #conversion: EventConversion;
  readonly #frames = new SseFrames();

  constructor(exchange: Exchange, conversion: EventConversion) {
    this.#exchange = exchange;
    this.#conversion = conversion;
  }

  restart(): void {
    this.failure = null;
    this.#frames.clear();
  }

  write(chunk: Buffer): boolean {
    if (this.isComplete || this.failure) return true;
    const frames = this.#frames;
    const end = frames.push(chunk);
    if (frames.isTooLong) this.failure = FRAME_TOO_LONG;
    let canTakeMore = true;
    for (let start = 0; start < end && !this.failure && !this.isComplete; ) {
      const stop = frames.findStop(start, end);
      canTakeMore = this.#take(frames.data.toString('utf8', start, stop));
      start = stop;
    }
    return canTakeMore;
  }

  end(): ApiError | null {
    const { rest } = this.#frames;
    if (!this.isComplete && !this.failure && rest !== null) this.#take(rest);
    if (this.failure) return this.failure;
    if (!this.isComplete)
      return new ApiError('upstream_error', 'The engine ended the stream before it was complete.');
    this.#exchange.stream!.end();
    return null;
  }

  #take(frame: string): boolean {
    const { data } = readFrame(frame);
    if (data?.trim() === DONE) return this.#finish();
    const event = parseJSON(data ?? '');
    if (!isObject(event)) return true;
    this.failure = findEngineError(event) ?? findAbortedError(event);
    if (this.failure) return true;
    const events = this.#convert(event);
    if (!events) return true;
    const canTakeMore = this.#send(events);
    return this.#conversion.isLast?.(event) ? this.#finish() : canTakeMore;
  }

  #convert(event: JSONObject): object[] | null {
    try {
      return this.#conversion.convert(event);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.failure = error;
      return null;
    }
  }

  #finish(): boolean {
    this.isComplete = true;
    return this.#send(this.#conversion.finish(), true);
  }

  #send(events: readonly object[], isLast = false): boolean {
    if (events.length === 0 && !isLast) return true;
    const exchange = this.#exchange;
    const stream = exchange.openStream();
    this.events += events.length;
    const text = toBytesText(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
    return stream.write(isLast ? exchange.account.addReceipt(`${text}data: ${DONE}\n\n`) : text);
  }
}
