/** A chat's messages, read into one prompt. */
import { refuse, refuseField } from './errors.ts';
import { type Fields, isObject, readBoolean, readList } from './fields.ts';
import { countTokens } from './text.ts';

export interface Conversation {
  /** All of it in one text, from which the answer is made. */
  prompt: string;
  promptTokens: number;
  lastRole: string;
  lastUserText: string;
}

/** What the template of a chat adds around a message, and what an image costs. */
const TOKENS_PER_MESSAGE = 4;
const TOKENS_PER_IMAGE = 256;
const MEDIA_PARTS = new Set(['image_url', 'input_image', 'input_audio', 'audio_url', 'video_url', 'file']);

export function readConversation(body: Fields): Conversation {
  const messages = readList(body, 'messages');
  if (!messages) throw refuseField(['messages'], 'Field required');
  if (messages.length === 0) throw refuse('messages must hold at least one message.', 'messages');
  const whole: Conversation = { prompt: '', promptTokens: 0, lastRole: '', lastUserText: '' };
  for (const [index, message] of messages.entries()) addMessage(whole, message, index);
  return whole;
}

function addMessage(whole: Conversation, message: unknown, index: number): void {
  if (!isObject(message)) throw refuseField(['messages', index], 'Input should be a valid dictionary');
  if (typeof message.role !== 'string') throw refuseField(['messages', index, 'role'], 'Field required');
  const { text, media } = readContent(message.content, index);
  const calls = Array.isArray(message.tool_calls) ? JSON.stringify(message.tool_calls) : '';
  whole.prompt += `${message.role}: ${text}${calls}${media.join('')}\n`;
  whole.promptTokens +=
    TOKENS_PER_MESSAGE + countTokens(text) + countTokens(calls) + media.length * TOKENS_PER_IMAGE;
  whole.lastRole = message.role;
  if (message.role === 'user') whole.lastUserText = text;
}

function readContent(content: unknown, index: number): { text: string; media: string[] } {
  if (typeof content === 'string') return { text: content, media: [] };
  if (content === null || content === undefined) return { text: '', media: [] };
  if (!Array.isArray(content))
    throw refuseField(['messages', index, 'content'], 'Input should be a valid string or a list of parts');
  const texts: string[] = [];
  const media: string[] = [];
  for (const part of content as unknown[]) {
    const text = isObject(part) ? (part.text ?? part.refusal) : part;
    if (typeof text === 'string') texts.push(text);
    else if (isObject(part) && MEDIA_PARTS.has(String(part.type))) media.push(readMedia(part, index));
    else throw refuse(`Unknown part type: ${isObject(part) ? String(part.type) : typeof part}`, 'messages');
  }
  return { text: texts.join('\n'), media };
}

function readMedia(part: Fields, index: number): string {
  const value = part[String(part.type)];
  const url = isObject(value) ? value.url : value;
  if (part.type === 'image_url' && typeof url !== 'string')
    throw refuseField(['messages', index, 'content', 'image_url', 'url'], 'Field required');
  return typeof url === 'string' ? url : '';
}

/** The assistant's text to continue, with `continue_final_message`; null otherwise. */
export function readSaid(body: Fields): string | null {
  const isContinuing = readBoolean(body, 'continue_final_message');
  // Its default is true, which the other one excludes.
  const addsPrompt = body.add_generation_prompt !== false;
  if (!isContinuing) return null;
  if (addsPrompt)
    throw refuse('Cannot set both `continue_final_message` and `add_generation_prompt` to True.');
  const last = readList(body, 'messages')?.at(-1);
  if (!isObject(last) || last.role !== 'assistant')
    throw refuse('`continue_final_message` needs a final message of the assistant.', 'messages');
  return readContent(last.content, 0).text;
}

/** The text of the latest user message, as the control port shows it. */
export function peekConversation(messages: unknown): string | undefined {
  if (!Array.isArray(messages)) return undefined;
  const last = messages.findLast((message) => isObject(message) && message.role === 'user') as
    | Fields
    | undefined;
  if (typeof last?.content === 'string') return last.content;
  if (!Array.isArray(last?.content)) return undefined;
  const part = last.content.find((one) => isObject(one) && typeof one.text === 'string') as
    | Fields
    | undefined;
  return part?.text as string | undefined;
}
