/** What watches an engine's event stream on its way to the client, whatever its dialect. */
import { ApiError } from '../http/error-response.ts';
import type { Usage } from './answer.ts';

export interface StreamFilter {
  readonly usage: Usage | null;
  /** Of the output that went through, about. */
  readonly estimatedTokens: number;
  /** All events that went through, where the dialect numbers them. */
  readonly events?: number;
  /** The engine has said its last word. */
  readonly isDone: boolean;
  /** The engine's complaint; nothing goes through after it. */
  readonly failure: ApiError | null;
  /** What may go to the client now, one character a byte; null for nothing. */
  push(chunk: Buffer): string | null;
  /** The last words of a stream that ended without a blank line; half a frame is dropped. */
  end(): string | null;
}

export const FRAME_TOO_LONG = new ApiError('upstream_error', 'The engine sent an event that is too long.');
