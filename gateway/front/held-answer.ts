/** A replica's response to a held request: relayed, also into a started stream, unless it has to wait again. */
import type { IncomingHttpHeaders } from 'node:http';
import { ERRORS, type ErrorCode } from '../../api/errors.ts';
import { GrowingBuffer } from '../../kit/growing-buffer.ts';
import { isObject } from '../../kit/json.ts';
import { parseJSON } from '../engine/sse-frames.ts';
import { ApiError } from '../http/error-response.ts';
import type { EventStream } from '../http/event-stream.ts';
import type { Exchange } from '../http/exchange.ts';
import type { RelayAnswer } from '../upstream/relay.ts';
import { describeLoss, isEventStream, RelayedAnswer } from './relayed-answer.ts';
import { WholeEvents } from './whole-events.ts';

export interface HeldAnswerOptions {
  exchange: Exchange;
  /** Whether the request can be resent because its body is kept. */
  isRepeatable: boolean;
  /** The client gets this response. */
  onPass: () => void;
}

const MAX_ERROR_BYTES = 64 * 1024;
/** Statuses of a replica without a free slot in both dialects, and of one that has lost its engine or shuts down. */
const FULL_STATUSES = new Set([429, 529, 503]);
const REPEATED: ReadonlySet<string> = new Set(['replica_saturated', 'no_pod_available']);

export class HeldAnswer implements RelayAnswer {
  readonly #options: HeldAnswerOptions;
  /** Until a stream has started. */
  readonly #plain: RelayedAnswer;
  readonly #events = new WholeEvents();
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #isPassing = false;
  readonly #collected = new GrowingBuffer();
  /** The replica had no slot: nothing was relayed. */
  saturation: ApiError | null = null;
  /** An error for the client, whose stream has started. */
  failure: ApiError | null = null;

  constructor(options: HeldAnswerOptions) {
    this.#options = options;
    this.#plain = new RelayedAnswer(options.exchange);
  }

  begin(status: number, headers: IncomingHttpHeaders): void {
    const { exchange, isRepeatable, onPass } = this.#options;
    this.#status = status;
    this.#headers = headers;
    this.#isPassing = exchange.stream
      ? status === 200 && isEventStream(headers)
      : !isRepeatable || !FULL_STATUSES.has(status);
    if (!this.#isPassing) return;
    onPass();
    // The replica's events are its own.
    exchange.countEvents = null;
    if (!exchange.stream) this.#plain.begin(status, headers);
  }

  write(chunk: Buffer): boolean {
    const { stream } = this.#options.exchange;
    if (!this.#isPassing) {
      this.#collected.add(chunk.subarray(0, MAX_ERROR_BYTES - this.#collected.length));
      return true;
    }
    if (!stream) return this.#plain.write(chunk);
    return writeTo(stream, this.#events.push(chunk));
  }

  end(): void {
    const { exchange, isRepeatable, onPass } = this.#options;
    if (this.#isPassing) {
      if (exchange.stream) exchange.stream.end(this.#events.rest.toString('latin1'));
      else this.#plain.end();
      return;
    }
    const error = this.#readError();
    if (REPEATED.has(error.code) && !this.#isFinal && isRepeatable) {
      this.saturation = error;
      return;
    }
    onPass();
    if (exchange.stream) this.failure = error;
    else {
      this.#plain.begin(this.#status, this.#headers);
      this.#plain.write(this.#collected.read());
      this.#plain.end();
    }
  }

  break(): void {
    const { exchange } = this.#options;
    if (this.#isPassing && !exchange.stream) {
      this.#plain.break();
      return;
    }
    // After part of an event, only a broken connection says that it is not complete.
    if (this.#events.isCut) exchange.res.destroy();
    this.failure = describeLoss();
  }

  get #isFinal(): boolean {
    return this.#headers['x-should-retry'] === 'false';
  }

  #readError(): ApiError {
    const body = parseJSON(this.#collected.toString());
    const { code, message, param } = isObject(body) && isObject(body.error) ? body.error : {};
    const known = typeof code === 'string' && Object.hasOwn(ERRORS, code) ? (code as ErrorCode) : null;
    const retryAfter = Number(this.#headers['retry-after'] ?? Number.NaN);
    return new ApiError(
      known ?? CODES[this.#status] ?? 'upstream_error',
      typeof message === 'string' ? message : `The replica answered ${this.#status}.`,
      {
        param: typeof param === 'string' ? param : null,
        logMessage: `The replica answered ${this.#status}.`,
        ...(Number.isFinite(retryAfter) && { retryAfter }),
        isFinal: this.#isFinal,
        ...(!known && typeof code === 'string' && { detailCode: code }),
      },
    );
  }
}

const writeTo = (stream: EventStream, whole: Buffer): boolean =>
  whole.length === 0 || stream.write(whole.toString('latin1'));

/** For errors without Berth's code, as in Anthropic's dialect. */
const CODES: Readonly<Record<number, ErrorCode>> = {
  400: 'invalid_request_error',
  401: 'invalid_api_key',
  402: 'insufficient_quota',
  404: 'not_found',
  413: 'request_too_large',
  429: 'rate_limit_exceeded',
  503: 'no_pod_available',
  504: 'request_timeout',
  529: 'replica_saturated',
};
