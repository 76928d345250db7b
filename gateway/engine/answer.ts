/** What both ways to answer have in common: whole, or as a stream. */
import type { ApiError } from '../http/error-response.ts';
import type { Usage } from './usage.ts';

/** Takes an engine's answer of status 200 and makes the client's of it. */
export interface Answer {
  /** False: the client is slow, wait for `drain`. */
  write(chunk: Buffer): boolean;
  /** The engine's answer is complete. Null, or what is wrong with it; then nothing more may be written. */
  end(): ApiError | null;
  /** What is wrong with what came so far; the engine's work is then given up. */
  readonly failure: ApiError | null;
  /** The engine has said its last word, whenever its connection may end. */
  readonly isComplete: boolean;
  readonly usage: Usage | null;
  /** Pieces of output that went out, about a token each. */
  readonly frames: number;
}
