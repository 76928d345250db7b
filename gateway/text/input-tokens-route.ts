/**
 * OpenAI's count of a response's input (docs/api.md, "POST /v1/responses/input_tokens"). Of the presets only llama.cpp has the route; the
 * others count the same conversation as a message of Anthropic's API.
 */
import { traitsOf } from '../../api/engine-traits.ts';
import { isObject, type JSONObject } from '../../kit/json.ts';
import { isTooDeep } from '../../kit/json-cost.ts';
import { refuseParameter } from '../http/parameter-error.ts';
import { INPUT_FIELDS } from './fields.ts';
import { isClientTool } from './hosted-tools.ts';
import { readBlockMedia } from './input-media.ts';
import { COUNT_TOKENS } from './messages-route.ts';
import { RESPONSES } from './responses-route.ts';
import type { TextRoute, Translation } from './text-route.ts';

export const INPUT_TOKENS: TextRoute = {
  path: '/v1/responses/input_tokens',
  fields: INPUT_FIELDS,
  refuse: RESPONSES.refuse!,
  omit: RESPONSES.omit!,
  readMedia: RESPONSES.readMedia,
  translate: translateCount,
  stream: null,
  complete: () => false,
  // Nothing is generated.
  readUsage: () => null,
};

/** Throws ApiError. */
export function translateCount(value: JSONObject, preset: string): Translation {
  if (!traitsOf(preset).countsMessages) return { path: INPUT_TOKENS.path, read: readCount };
  const body = writeMessage(value);
  return { path: COUNT_TOKENS.path, body, media: readBlockMedia(body).media, read: readCount };
}

const readCount = (answer: unknown): JSONObject | null =>
  isObject(answer) && Number.isSafeInteger(answer.input_tokens)
    ? { object: 'response.input_tokens', input_tokens: answer.input_tokens }
    : null;

interface Turn {
  role: 'user' | 'assistant';
  content: JSONObject[];
}

/** What the items of an input become. */
interface Conversation {
  system: JSONObject[];
  messages: Turn[];
  /** Characters of arguments that may still be parsed. */
  parsed: number;
}

/** Values of JSON take many times the memory of their text, which alone is accounted for: a limit for all calls together. */
const MAX_PARSED_CHARACTERS = 16 * 1024;

/** The conversation as a message's body. Throws ApiError for content that a message cannot have. */
function writeMessage({ input, instructions, tools, tool_choice: choice, ...rest }: JSONObject) {
  const system: JSONObject[] = typeof instructions === 'string' ? [textOf(instructions)] : [];
  const conversation: Conversation = { system, messages: [], parsed: MAX_PARSED_CHARACTERS };
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : (input as JSONObject[]);
  for (const [index, item] of items.entries()) addItem(item, `input[${index}]`, conversation);
  return {
    messages: conversation.messages,
    system: system.length > 0 ? system : undefined,
    tools: Array.isArray(tools) ? tools.flatMap(writeTool) : undefined,
    tool_choice: choice === 'none' && Array.isArray(tools) ? { type: 'none' } : undefined,
    // vLLM's own.
    chat_template_kwargs: rest.chat_template_kwargs,
  };
}

function addItem(item: JSONObject, param: string, conversation: Conversation): void {
  const { system, messages } = conversation;
  const type = item.type ?? 'message';
  const id = item.call_id;
  if (typeof type !== 'string') throw refuseType(`${param}.type`, type);
  if (type === 'message') {
    const content = writeParts(item.content, `${param}.content`);
    if (item.role === 'system' || item.role === 'developer') system.push(...content);
    else messages.push({ role: item.role === 'assistant' ? 'assistant' : 'user', content });
  } else if (type === 'reasoning') {
    // Chat templates leave out the reasoning of earlier turns.
  } else if (type.endsWith('_output')) {
    // A search for tools has found `tools`.
    const content = writeParts(item.output ?? JSON.stringify(item.tools), `${param}.output`);
    messages.push({ role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content }] });
  } else if (type.endsWith('_call')) {
    const call = { type: 'tool_use', id, name: item.name ?? type, input: readArguments(item, conversation) };
    const last = messages.at(-1);
    if (last?.role === 'assistant') last.content.push(call);
    else messages.push({ role: 'assistant', content: [call] });
  } else throw refuse(`${param}.type`, type);
}

/** Those that are no JSON, or long, are counted as a text. */
function readArguments(
  { arguments: text, input, action }: JSONObject,
  conversation: Conversation,
): JSONObject {
  if (typeof text !== 'string') return isObject(action) ? action : { input };
  if (text.length > conversation.parsed || isTooDeep(Buffer.from(text))) return { text };
  conversation.parsed -= text.length;
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : { value };
  } catch {
    return { text };
  }
}

const textOf = (text: string): JSONObject => ({ type: 'text', text });

/** Results of tools that run in a shell are objects. */
function writeParts(content: unknown, param: string): JSONObject[] {
  if (typeof content === 'string') return [textOf(content)];
  if (!Array.isArray(content)) return content ? [textOf(JSON.stringify(content))] : [];
  return content.map((part: unknown, index) => writePart(part, `${param}[${index}]`));
}

function writePart(part: unknown, param: string): JSONObject {
  const { type, text, refusal, image_url: url } = isObject(part) ? part : {};
  if (typeof text === 'string') return textOf(text);
  if (typeof refusal === 'string') return textOf(refusal);
  if (type === 'input_image' && typeof url === 'string') return { type: 'image', source: writeSource(url) };
  // Outputs of a shell have no type.
  if (isObject(part) && type === undefined) return textOf(JSON.stringify(part));
  throw refuse(`${param}.type`, type);
}

function writeSource(url: string): JSONObject {
  const [, mediaType, data] = /^data:([^;,]+)(?:;[^;,]+)*;base64,(.*)$/is.exec(url) ?? [];
  return mediaType ? { type: 'base64', media_type: mediaType, data } : { type: 'url', url };
}

/** Tools that only a server could run are left out (`hosted-tools.ts`). */
function writeTool(tool: JSONObject): JSONObject[] {
  const { type, name, description, parameters, tools } = tool;
  switch (type) {
    case 'function':
      return [{ name, description, input_schema: isObject(parameters) ? parameters : ANY_INPUT }];
    case 'namespace':
      return Array.isArray(tools) ? tools.filter(isObject).flatMap(writeTool) : [];
    default:
      return isClientTool(tool) ? [{ name: name ?? type, description, input_schema: ANY_INPUT }] : [];
  }
}

const ANY_INPUT = { type: 'object' };

const refuseType = (param: string, type: unknown) =>
  refuseParameter(
    'invalid_type',
    param,
    `\`${param}\` must be a string, not ${JSON.stringify(type).slice(0, 60)}.`,
  );

const refuse = (param: string, type: unknown) =>
  refuseParameter(
    'unsupported_value',
    param,
    `\`${param}\` ${JSON.stringify(type)?.slice(0, 60)} is not supported: the engine of this deployment counts texts, images and tool calls.`,
  );
