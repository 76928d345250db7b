/** Tokenize and detokenize, with vLLM's API; other engines have their own. */
import { type EngineTraits, traitsOf } from '../../api/engine-traits.ts';
import { isObject, type JSONObject } from '../../kit/json.ts';
import { refuseParameter, requireParameter } from '../http/parameter-error.ts';
import { CONVERSATION, type Fields, FLAG, TEXT } from './fields.ts';
import type { Translation } from './text-route.ts';

const isText = (value: unknown): value is string => typeof value === 'string';
const isFlag = (value: unknown): value is boolean => typeof value === 'boolean';
const isToken = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;

/** docs/api.md, "POST /tokenize". Either `prompt` or `messages`. */
export const TOKENIZE_FIELDS: Fields = {
  prompt: TEXT,
  messages: CONVERSATION,
  model: TEXT,
  add_special_tokens: FLAG,
  return_token_strs: FLAG,
};

/** docs/api.md, "POST /detokenize". */
export const DETOKENIZE_FIELDS: Fields = {
  tokens: {
    isRequired: true,
    allowed: 'an array of token ids',
    isValid: (value) => Array.isArray(value) && value.every(isToken),
    schema: { type: 'array', items: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER } },
  },
  model: TEXT,
};

interface Text {
  prompt: string;
  withSpecial: boolean | undefined;
  withTexts: boolean;
}

interface Dialect {
  tokenize(text: Text): Translation;
  detokenize(tokens: unknown): Translation;
}

/** Dialect of vLLM and the simulator; only they accept messages. */
const VLLM: Dialect = {
  tokenize: () => ({ path: '/tokenize', read: (answer) => (isObject(answer) ? answer : null) }),
  detokenize: () => ({ path: '/detokenize', read: (answer) => readText(isObject(answer) && answer.prompt) }),
};

const SGLANG: Dialect = {
  tokenize: ({ prompt, withSpecial = true }) => ({
    path: '/tokenize',
    body: { prompt, add_special_tokens: withSpecial },
    read: (answer) => (isObject(answer) ? readTokens(answer.tokens, answer.max_model_len) : null),
  }),
  detokenize: (tokens) => ({
    path: '/detokenize',
    body: { tokens, skip_special_tokens: false },
    read: (answer) => readText(isObject(answer) && answer.text),
  }),
};

const TEI: Dialect = {
  tokenize: ({ prompt, withSpecial = true, withTexts }) => ({
    path: '/tokenize',
    body: { inputs: prompt, add_special_tokens: withSpecial },
    read: (answer) => {
      const list: unknown = Array.isArray(answer) ? answer[0] : null;
      if (!Array.isArray(list) || !list.every(isObject)) return null;
      return {
        ...readTokens(list.map(({ id }) => id)),
        ...(withTexts && { token_strs: list.map((each) => each.text) }),
      };
    },
  }),
  detokenize: (tokens) => ({
    path: '/decode',
    body: { ids: tokens, skip_special_tokens: false },
    read: (answer) => readText(Array.isArray(answer) ? answer[0] : answer),
  }),
};

const LLAMA: Dialect = {
  tokenize: ({ prompt, withSpecial = true, withTexts }) => ({
    path: '/tokenize',
    body: { content: prompt, add_special: withSpecial, with_pieces: withTexts },
    read: (answer) => {
      if (!isObject(answer) || !Array.isArray(answer.tokens)) return null;
      if (!withTexts) return readTokens(answer.tokens);
      const list = answer.tokens.filter(isObject);
      return {
        ...readTokens(list.map(({ id }) => id)),
        token_strs: list.map(({ piece }) => showPiece(piece)),
      };
    },
  }),
  detokenize: (tokens) => ({
    path: '/detokenize',
    body: { tokens },
    read: (answer) => readText(isObject(answer) && answer.content),
  }),
};

const DIALECTS: Readonly<Record<EngineTraits['tokenDialect'], Dialect>> = {
  vllm: VLLM,
  sglang: SGLANG,
  tei: TEI,
  'llama-cpp': LLAMA,
};
const dialectOf = (preset: string): Dialect => DIALECTS[traitsOf(preset).tokenDialect];

/** Throws ApiError. */
export function translateTokenize(value: JSONObject, preset: string): Translation {
  const dialect = dialectOf(preset);
  const { prompt, messages, add_special_tokens: withSpecial } = value;
  const isChat = Array.isArray(messages);
  if (!isText(prompt) && !isChat) throw requireParameter('prompt', 'a string');
  if (isChat && dialect !== VLLM)
    throw refuseParameter(
      'unsupported_parameter',
      'messages',
      `\`messages\` cannot be tokenized by the engine of this deployment (${preset}): send \`prompt\`.`,
    );
  return dialect.tokenize({
    prompt: isText(prompt) ? prompt : '',
    withSpecial: isFlag(withSpecial) ? withSpecial : undefined,
    withTexts: value.return_token_strs === true,
  });
}

/** Throws ApiError. */
export function translateDetokenize(value: JSONObject, preset: string): Translation {
  return dialectOf(preset).detokenize(value.tokens);
}

function readTokens(tokens: unknown, maxLength?: unknown): JSONObject | null {
  if (!Array.isArray(tokens)) return null;
  return {
    count: tokens.length,
    max_model_len: Number.isSafeInteger(maxLength) ? maxLength : null,
    tokens,
    token_strs: null,
  };
}

const readText = (prompt: unknown): JSONObject | null => (isText(prompt) ? { prompt } : null);

/** llama.cpp returns invalid text as bytes. */
const showPiece = (piece: unknown): string =>
  isText(piece) ? piece : Array.isArray(piece) ? Buffer.from(piece as number[]).toString() : '';
