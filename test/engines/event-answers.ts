/** Streams of named events, of Responses and Messages, in a comparable form. */
import { type Fields, readFrames, send, type Target } from './answers.ts';

export interface EventAnswer {
  status: number;
  /** The body, if it is no stream. */
  text: string;
  /** In order; consecutive events of a type count once, since their number depends on the load of the engine. */
  types: string[];
  /** All text, reasoning and arguments of tools. */
  said: string;
  /** Contents of the first and last events. */
  whole: Fields[];
}

const WHOLE = new Set([
  'response.completed',
  'response.incomplete',
  'message_start',
  'message_delta',
  'content_block_start',
]);

export async function askEvents(target: Target, path: string, body: Fields): Promise<EventAnswer> {
  const response = await send(target, path, { ...body, stream: true });
  const text = await response.text();
  const events = response.status === 200 ? readEvents(text) : [];
  return {
    status: response.status,
    text: response.status === 200 ? '' : text,
    types: events.map(({ type }) => String(type)).filter((type, index, all) => type !== all[index - 1]),
    said: events.map(({ delta }) => readDelta(delta)).join(''),
    whole: events.filter(({ type }) => WHOLE.has(String(type))),
  };
}

const readEvents = (text: string): Fields[] =>
  readFrames(text)
    .filter((frame) => frame !== '[DONE]')
    .map((frame) => JSON.parse(frame));

function readDelta(delta: unknown): string {
  if (typeof delta === 'string') return delta;
  if (typeof delta !== 'object' || delta === null) return '';
  const { text, thinking, partial_json: json } = delta as Fields;
  return [text, thinking, json].filter((part) => typeof part === 'string').join('');
}
