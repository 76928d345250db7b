/** An engine's event stream on its way to the client: watched by its dialect's filter, streamed through. */
import type { TokenUsage } from '../account/account.ts';
import { ApiError } from '../http/error-response.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Answer } from './answer.ts';
import { SseFrames } from './sse-frames.ts';
import { TokenEstimate } from './token-estimate.ts';

/** Watches an engine's event stream, whatever its dialect. */
export abstract class StreamFilter {
  abstract readonly usage: TokenUsage | null;
  /** Events passed so far, if the dialect numbers them. */
  readonly events?: number;
  /** The engine has sent its last event. */
  isDone = false;
  /** The engine's error; nothing passes after it. */
  failure: ApiError | null = null;
  protected readonly frames = new SseFrames();
  protected readonly estimate = new TokenEstimate();

  /** Estimated output tokens that passed. */
  get estimatedTokens(): number {
    return this.estimate.tokens;
  }

  /** From now on another engine responds; nothing has passed. */
  restart(): void {
    this.failure = null;
    this.frames.clear();
  }

  /** What may be sent to the client now, one character per byte; null for nothing. */
  push(chunk: Buffer): string | null {
    if (this.isDone || this.failure) return null;
    const end = this.frames.push(chunk);
    if (end > 0) return this.pass(end);
    if (this.frames.isTooLong) this.failure = FRAME_TOO_LONG;
    return null;
  }

  /** The same for the whole frames before `end`. */
  protected abstract pass(end: number): string | null;

  /** The last frame of a stream that ended without a blank line; half a frame is dropped. */
  abstract end(): string | null;
}

/** The part of it that a stream's response needs. */
export type StreamWatch = Pick<StreamFilter, keyof StreamFilter>;

export const FRAME_TOO_LONG = new ApiError('upstream_error', 'The engine sent an event that is too long.');

export class StreamAnswer implements Answer {
  readonly #exchange: Exchange;
  readonly #filter: StreamWatch;

  constructor(exchange: Exchange, filter: StreamWatch) {
    this.#exchange = exchange;
    this.#filter = filter;
    if (filter.events !== undefined) exchange.countEvents = () => filter.events!;
  }

  get failure(): ApiError | null {
    return this.#filter.failure;
  }

  get isComplete(): boolean {
    return this.#filter.isDone;
  }

  get usage(): TokenUsage | null {
    return this.#filter.usage;
  }

  get estimatedTokens(): number | null {
    return this.#filter.estimatedTokens || null;
  }

  restart(): void {
    this.#filter.restart();
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

  #send(output: string): boolean {
    const exchange = this.#exchange;
    return exchange.openStream().write(this.#filter.isDone ? exchange.account.addReceipt(output) : output);
  }
}
