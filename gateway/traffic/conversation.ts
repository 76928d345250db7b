/** What identifies a conversation: the same in all of its turns, and apart from others of the same key. */
import { hash } from 'node:crypto';
import type { JSONObject } from '../../kit/json.ts';

/** Characters of the first message. */
const MAX_CHARACTERS = 4_096;
/** A prompt without messages may grow at its end. */
const MAX_PROMPT_CHARACTERS = 256;
/** Values that are read of one message, and how deep. */
const MAX_VALUES = 64;
const MAX_DEPTH = 6;
/** The members of a part that have its text or its media. Others may change between turns, as marks for caching do. */
const READ = ['text', 'content', 'image_url', 'input_audio', 'source', 'url', 'data'];
/** Characters of a name that a client gives. */
const MAX_NAME_CHARACTERS = 512;

/**
 * A digest of the key, of the names of user and session that the request gives, and of the first message of its user. System
 * prompts are not part of it, since agents write the time into them. Null: the body has no text.
 */
export function readConversation(body: JSONObject, keyHash: string): string | null {
  const { messages, input, prompt, query, content, metadata } = body;
  const start = readStart(messages ?? input) ?? collectText(query ?? content, MAX_CHARACTERS);
  const text = start || collectText(prompt, MAX_PROMPT_CHARACTERS);
  const names = [body.user, body.safety_identifier, body.prompt_cache_key, readUser(metadata)].map(readName);
  if (text === '' && names.every((name) => name === '')) return null;
  return hash('sha256', JSON.stringify([keyHash, ...names, text]), 'base64url');
}

const readName = (value: unknown): string =>
  typeof value === 'string' ? value.slice(0, MAX_NAME_CHARACTERS) : '';

/** Anthropic's. */
const readUser = (metadata: unknown): unknown =>
  typeof metadata === 'object' && metadata !== null ? (metadata as JSONObject).user_id : undefined;

/** The first message of the user, or else the beginning; null where there is none. */
function readStart(messages: unknown): string | null {
  if (messages === undefined || messages === null) return null;
  if (!Array.isArray(messages)) return collectText(messages, MAX_CHARACTERS);
  const first = messages.find((message) => (message as JSONObject | null)?.role === 'user');
  return collectText(first === undefined ? messages : (first as JSONObject).content, MAX_CHARACTERS);
}

/** Texts and numbers of a value in their order, up to a length. */
function collectText(value: unknown, most: number): string {
  let text = '';
  let values = 0;
  const read = (each: unknown, depth: number): void => {
    if (each === undefined || text.length >= most || values++ >= MAX_VALUES || depth > MAX_DEPTH) return;
    if (typeof each === 'string' || typeof each === 'number')
      text += `${String(each).slice(0, most - text.length)}\0`;
    else if (Array.isArray(each)) for (const item of each.slice(0, MAX_VALUES)) read(item, depth + 1);
    else if (typeof each === 'object' && each !== null)
      for (const name of READ) read((each as JSONObject)[name], depth + 1);
  };
  read(value, 0);
  return text;
}
