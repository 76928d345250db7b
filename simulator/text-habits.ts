/** How an engine reads requests for text, and writes its answers, where it differs from the simulator. */
import type { Frame, PlanContext } from './answer.ts';
import type { Chat } from './chat.ts';
import type { EngineError } from './errors.ts';
import type { Exchange } from './exchange.ts';
import type { Fields } from './fields.ts';

export interface TextHabits {
  /** Throws an EngineError for a body that cannot be read. */
  checkContent(exchange: Exchange): void;
  describeError(error: EngineError, path: string): object;
  /** The request as the simulator serves it; throws an EngineError to refuse it. */
  read(path: string, body: Fields, context: PlanContext): Fields;
  /** For a prompt that leaves nothing of the context. If a prompt leaves less than the request's maximum, the answer is cut. */
  refuseLength(promptTokens: number, contextTokens: number): EngineError;
  finishChat(request: Fields, chat: Chat): Chat;
}

/** The engine's own fields, in what the simulator has written. */
export interface AnswerHabits {
  dressBody(body: object): object;
  dressFrames(frames: Iterable<Frame>): Iterable<Frame>;
}
