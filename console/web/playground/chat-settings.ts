/** What a chat is asked with: the system prompt, parameters, the conversation so far. Pure. */
import type { ChatBody } from '../deployment/chat-snippets.ts';

export interface ChatMessage {
  role: 'user' | 'assistant';
  content: string;
}

/** As the fields have them: what is empty is not sent, so that the engine decides. */
export interface ChatSettings {
  system: string;
  temperature: number | string;
  topP: number | string;
  maxTokens: number | string;
  seed: number | string;
  /** One per line; `\n` is a line break. */
  stop: string;
  reasoningEffort: string | null;
}

export const NO_SETTINGS: ChatSettings = {
  system: '',
  temperature: '',
  topP: '',
  maxTokens: '',
  seed: '',
  stop: '',
  reasoningEffort: null,
};

/** The body of the streamed call. */
export function buildChatBody(
  model: string,
  settings: ChatSettings,
  messages: readonly ChatMessage[],
): ChatBody {
  const { system, temperature, topP, maxTokens, seed, stop, reasoningEffort } = settings;
  const stops = stop.split('\n').flatMap((line) => (line === '' ? [] : line.replaceAll('\\n', '\n')));
  const history = messages.map(({ role, content }) => ({ role, content }));
  return {
    model,
    messages: system.trim() === '' ? history : [{ role: 'system', content: system }, ...history],
    ...keepNumbers({ temperature, top_p: topP, max_tokens: maxTokens, seed }),
    ...(stops.length > 0 && { stop: stops }),
    ...(reasoningEffort && { reasoning_effort: reasoningEffort }),
    stream: true,
  };
}

/** Number fields have text while they are empty or incomplete. */
const keepNumbers = (fields: Record<string, number | string>): Record<string, number> =>
  Object.fromEntries(
    Object.entries(fields).filter((field): field is [string, number] => typeof field[1] === 'number'),
  );

const GREETING: ChatMessage = { role: 'user', content: 'Hello!' };

/** What the next call would send; without a draft the last call, or a greeting before the first. */
export function previewMessages(messages: readonly ChatMessage[], draft: string): ChatMessage[] {
  if (draft.trim() !== '') return [...dropUnanswered(messages), { role: 'user', content: draft.trim() }];
  return messages.length === 0 ? [GREETING] : dropAnswer(messages);
}

/** Without the incomplete response, to retry the question. */
export const dropAnswer = <T extends ChatMessage>(messages: readonly T[]): T[] =>
  messages.at(-1)?.role === 'assistant' ? messages.slice(0, -1) : [...messages];

/** Models require alternating roles. */
export const dropUnanswered = <T extends ChatMessage>(messages: readonly T[]): T[] =>
  messages.at(-1)?.role === 'user' ? messages.slice(0, -1) : [...messages];
