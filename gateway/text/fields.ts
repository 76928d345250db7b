/** Types of the documented fields of a body; all others pass through to the engine. */
import { isObject } from '../../kit/json.ts';
import { classifyMismatch, refuseParameter, requireParameter } from '../http/parameter-error.ts';

export type JsonSchema = Readonly<Record<string, unknown>>;

export interface Field {
  isRequired?: true;
  /** Completes "must be …". */
  allowed: string;
  isValid(value: unknown): boolean;
  /** The same for the OpenAPI document. */
  schema: JsonSchema;
}
export type Fields = Readonly<Record<string, Field>>;

const isText = (value: unknown) => typeof value === 'string';
const isInteger = (value: unknown) => Number.isInteger(value);
const isListOf = (value: unknown, isItem: (item: unknown) => boolean): boolean =>
  Array.isArray(value) && value.every(isItem);
const isFilledListOf = (value: unknown, isItem: (item: unknown) => boolean): boolean =>
  isListOf(value, isItem) && (value as unknown[]).length > 0;

export const TEXT: Field = { allowed: 'a string', isValid: isText, schema: { type: 'string' } };
export const FLAG: Field = {
  allowed: 'true or false',
  isValid: (value) => typeof value === 'boolean',
  schema: { type: 'boolean' },
};
const number: Field = {
  allowed: 'a number',
  isValid: (value) => typeof value === 'number',
  schema: { type: 'number' },
};
const integer: Field = { allowed: 'an integer', isValid: isInteger, schema: { type: 'integer' } };
const object: Field = { allowed: 'an object', isValid: isObject, schema: { type: 'object' } };
const positive: Field = {
  allowed: 'an integer of at least 1',
  isValid: (value) => isInteger(value) && (value as number) >= 1,
  schema: { type: 'integer', minimum: 1 },
};
const stop: Field = {
  allowed: 'a string or an array of strings',
  isValid: (value) => isText(value) || isListOf(value, isText),
  schema: { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] },
};
const filledListOf = (items: JsonSchema): JsonSchema => ({ type: 'array', items, minItems: 1 });
export const CONVERSATION: Field = {
  allowed: 'a non-empty array of objects',
  isValid: (value) => isFilledListOf(value, isObject),
  schema: filledListOf({ type: 'object' }),
};
/** OpenAI accepts token ids, too. */
const prompt: Field = {
  allowed: 'a string, or a non-empty array of strings or of token ids',
  isValid: (value) =>
    isText(value) ||
    isFilledListOf(value, isText) ||
    isFilledListOf(value, isInteger) ||
    isFilledListOf(value, (item) => isFilledListOf(item, isInteger)),
  schema: {
    anyOf: [
      { type: 'string' },
      filledListOf({ type: 'string' }),
      filledListOf({ type: 'integer' }),
      filledListOf(filledListOf({ type: 'integer' })),
    ],
  },
};

const generation: Fields = {
  model: TEXT,
  stream: FLAG,
  stream_options: object,
  temperature: number,
  top_p: number,
  max_tokens: integer,
  max_completion_tokens: integer,
  frequency_penalty: number,
  presence_penalty: number,
  stop,
  n: positive,
};

/** docs/api.md, "POST /v1/chat/completions". */
export const CHAT_FIELDS: Fields = {
  messages: { ...CONVERSATION, isRequired: true },
  ...generation,
};

/** docs/api.md, "POST /v1/completions". */
export const COMPLETION_FIELDS: Fields = { prompt: { ...prompt, isRequired: true }, ...generation };

const ENCODINGS: readonly unknown[] = ['float', 'base64', 'bytes', 'bytes_only'];

/** docs/api.md, "POST /v1/embeddings". Either `input` or `messages`. */
export const EMBEDDING_FIELDS: Fields = {
  input: prompt,
  messages: CONVERSATION,
  model: TEXT,
  encoding_format: {
    allowed: '"float" or "base64", or with vLLM "bytes" or "bytes_only"',
    isValid: (value) => ENCODINGS.includes(value),
    schema: { enum: ENCODINGS, description: '`bytes` and `bytes_only` with vLLM only.' },
  },
};

const listOfObjects: Field = {
  allowed: 'an array of objects',
  isValid: (value) => isListOf(value, isObject),
  schema: { type: 'array', items: { type: 'object' } },
};
const textOrObjects: Field = {
  allowed: 'a string or an array of objects',
  isValid: (value) => isText(value) || isListOf(value, isObject),
  schema: { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'object' } }] },
};
const textOrObject: Field = {
  allowed: 'a string or an object',
  isValid: (value) => isText(value) || isObject(value),
  schema: { anyOf: [{ type: 'string' }, { type: 'object' }] },
};

/** docs/api.md, "POST /v1/responses/input_tokens". */
export const INPUT_FIELDS: Fields = {
  input: {
    isRequired: true,
    allowed: 'a string, or a non-empty array of objects',
    isValid: (value) => isText(value) || isFilledListOf(value, isObject),
    schema: { anyOf: [{ type: 'string' }, filledListOf({ type: 'object' })] },
  },
  model: TEXT,
  instructions: TEXT,
  tools: listOfObjects,
  tool_choice: textOrObject,
  parallel_tool_calls: FLAG,
  text: object,
  reasoning: object,
};

/** docs/api.md, "POST /v1/responses". */
export const RESPONSES_FIELDS: Fields = {
  ...INPUT_FIELDS,
  stream: FLAG,
  temperature: number,
  top_p: number,
  // With no tokens, engines report an end like that of an aborted stream.
  max_output_tokens: positive,
  metadata: object,
  store: FLAG,
  background: FLAG,
};

const counted: Fields = {
  messages: CHAT_FIELDS.messages!,
  model: TEXT,
  system: textOrObjects,
  tools: listOfObjects,
  tool_choice: object,
};

/** docs/api.md, "POST /v1/messages". */
export const MESSAGES_FIELDS: Fields = {
  ...counted,
  max_tokens: { ...positive, isRequired: true },
  stream: FLAG,
  temperature: number,
  top_p: number,
  top_k: integer,
  stop_sequences: {
    allowed: 'an array of strings',
    isValid: (value) => isListOf(value, isText),
    schema: { type: 'array', items: { type: 'string' } },
  },
  thinking: object,
  metadata: object,
};

/** docs/api.md, "POST /v1/messages/count_tokens". */
export const COUNT_FIELDS: Fields = counted;

/** Throws ApiError for a missing or mistyped field; null counts as absent, as in OpenAI's API. */
export function checkFields(body: Record<string, unknown>, fields: Fields): void {
  for (const name in fields) {
    const { isRequired, allowed, isValid, schema } = fields[name]!;
    const value = body[name];
    if (value === undefined || value === null) {
      if (!isRequired) continue;
      throw requireParameter(name, allowed);
    }
    if (!isValid(value))
      throw refuseParameter(
        classifyMismatch(schema, value),
        name,
        `\`${name}\` must be ${allowed}, not ${describe(value)}.`,
      );
  }
}

const MAX_SHOWN_CHARACTERS = 40;

function describe(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'an empty array' : 'an array of other values';
  if (typeof value === 'object') return 'an object';
  return JSON.stringify(value).slice(0, MAX_SHOWN_CHARACTERS);
}
