/** Chats that other dialects ask for: their requests become a chat's, and the chat becomes their answer. */
import type { Answer, Frame, PlanContext } from './answer.ts';
import { type Chat, type ChatChoice, countChoice, makeChat } from './chat.ts';
import type { Fields } from './fields.ts';

export interface Translation {
  /** The request as a chat's. */
  chat: Fields;
  isStreamed: boolean;
  buildBody(chat: Chat, choice: ChatChoice): object;
  stream(chat: Chat, choice: ChatChoice): Iterable<Frame>;
}

export function planTranslated({ chat: request, ...dialect }: Translation, context: PlanContext): Answer {
  const chat = makeChat(request, context);
  const choice = chat.choices[0]!;
  return {
    steps: countChoice(choice),
    usage: chat.usage,
    conversation: chat.conversation,
    isNamed: true,
    buildBody: () => dialect.buildBody(chat, choice),
    frames: dialect.isStreamed ? () => dialect.stream(chat, choice) : null,
  };
}
