/** How an engine reads requests for text, and writes its answers, where it differs from the simulator. */
import type { Frame, PlanContext, PlanHabits } from './answer.ts';
import type { Chat } from './chat.ts';
import type { EngineError } from './errors.ts';
import type { Fields } from './fields.ts';
import type { ParsedForm } from './form-body.ts';
import type { ParsedBody } from './request-body.ts';

export interface TextHabits extends PlanHabits {
  /** Throws an EngineError for a body that cannot be read. */
  checkContent(contentType: string | undefined, body: ParsedBody | ParsedForm): void;
  describeError(error: EngineError, path: string): object;
  /** The request as the simulator serves it; throws an EngineError to refuse it. */
  read(path: string, body: Fields, context: PlanContext): Fields;
  finishChat(request: Fields, chat: Chat): Chat;
}

/** The engine's own fields, in what the simulator has written. */
export interface AnswerHabits {
  dressBody(body: object): object;
  dressFrames(frames: Iterable<Frame>): Iterable<Frame>;
}
