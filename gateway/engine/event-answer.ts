/** An engine's event stream of JSON, of which each event becomes events of the endpoint's. */
import { isObject, type JSONObject } from '../../kit/json-object.ts';
import { ApiError } from '../http/error-response.ts';
import { EventStream, toBytesText } from '../http/event-stream.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Answer } from './answer.ts';
import { findAbortion, findEngineError } from './engine-error.ts';

export interface EventConversion {
  /** The events that go out for one of the engine's. Throws ApiError for one that cannot. */
  convert(event: JSONObject): object[];
  /** Whether it is the engine's last, before which the stream is not complete; `[DONE]` is, too. */
  isLast?(event: JSONObject): boolean;
  /** The events that end the stream. */
  finish(): object[];
}

const MAX_EVENT_BYTES = 16 * 1024 * 1024;
const DONE = '[DONE]';
const SEPARATOR = /\r?\n\r?\n/;

export class EventAnswer implements Answer {
  failure: ApiError | null = null;
  isComplete = false;
  readonly usage = null;
  readonly estimatedTokens = 0;
  /** That went out. */
  events = 0;
  readonly #exchange: Exchange;
  readonly #conversion: EventConversion;
  #carry = Buffer.alloc(0);

  constructor(exchange: Exchange, conversion: EventConversion) {
    this.#exchange = exchange;
    this.#conversion = conversion;
  }

  write(chunk: Buffer): boolean {
    if (this.isComplete || this.failure) return true;
    const data = this.#carry.length === 0 ? chunk : Buffer.concat([this.#carry, chunk]);
    // One character a byte, so that a character that is cut in two waits for its other half.
    const frames = data.toString('latin1').split(SEPARATOR);
    this.#carry = Buffer.from(frames.pop()!, 'latin1');
    if (this.#carry.length > MAX_EVENT_BYTES)
      this.failure = new ApiError('upstream_error', 'The engine sent an event that is too long.');
    let canTakeMore = true;
    for (const frame of frames) {
      if (this.failure || this.isComplete) break;
      canTakeMore = this.#take(Buffer.from(frame, 'latin1').toString('utf8'));
    }
    return canTakeMore;
  }

  end(): ApiError | null {
    if (!this.isComplete && !this.failure && this.#carry.length > 0) this.#take(this.#carry.toString('utf8'));
    if (this.failure) return this.failure;
    if (!this.isComplete)
      return new ApiError('upstream_error', 'The engine ended the stream before it was complete.');
    this.#exchange.stream!.end();
    return null;
  }

  #take(frame: string): boolean {
    const text = frame
      .split(/\r?\n/)
      .flatMap((line) => (line.startsWith('data:') ? [line.slice(line[5] === ' ' ? 6 : 5)] : []))
      .join('\n');
    if (text === '') return true;
    if (text === DONE) return this.#finish();
    const event = parse(text);
    if (!event) return true;
    this.failure = findEngineError(event) ?? findAbortion(event);
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
    return this.#send(this.#conversion.finish(), `data: ${DONE}\n\n`);
  }

  /** The head waits for the first event: until then an error can still have its own status. */
  #send(events: readonly object[], last = ''): boolean {
    const text = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('') + last;
    if (text === '') return true;
    const exchange = this.#exchange;
    if (!exchange.stream) {
      exchange.firstByteAt = performance.now();
      exchange.stream = new EventStream(exchange.res, exchange.headers);
    }
    this.events += events.length;
    return exchange.stream.write(toBytesText(text));
  }
}

function parse(text: string): JSONObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
