/** What watches an engine's event stream on its way to the client, whatever its dialect. */
import { ApiError } from '../http/error-response.ts';
import type { Usage } from './answer.ts';
import { SseFrames } from './sse-frames.ts';
import { TokenEstimate } from './token-estimate.ts';

export abstract class StreamFilter {
  abstract readonly usage: Usage | null;
  /** All events that went through, where the dialect numbers them. */
  readonly events?: number;
  /** The engine has said its last word. */
  isDone = false;
  /** The engine's complaint; nothing goes through after it. */
  failure: ApiError | null = null;
  protected readonly frames = new SseFrames();
  protected readonly estimate = new TokenEstimate();

  /** Of the output that went through, about. */
  get estimatedTokens(): number {
    return this.estimate.tokens;
  }

  /** What may go to the client now, one character a byte; null for nothing. */
  push(chunk: Buffer): string | null {
    if (this.isDone || this.failure) return null;
    const end = this.frames.push(chunk);
    if (end > 0) return this.pass(end);
    if (this.frames.isTooLong) this.failure = FRAME_TOO_LONG;
    return null;
  }

  /** The same of the whole frames before `end`. */
  protected abstract pass(end: number): string | null;

  /** The last words of a stream that ended without a blank line; half a frame is dropped. */
  abstract end(): string | null;
}

/** What the answer of a stream needs of it. */
export type StreamWatch = Pick<StreamFilter, keyof StreamFilter>;

export const FRAME_TOO_LONG = new ApiError('upstream_error', 'The engine sent an event that is too long.');
