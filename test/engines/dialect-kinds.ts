/** Requests to the routes other than chat and completions. */
import type { Fields } from './answers.ts';
import type { EngineName } from './catalog.ts';
import type { RequestKind } from './request-kinds.ts';

export interface DialectKind extends RequestKind {
  path: string;
}

const VLLM: EngineName[] = ['vllm'];
const HELLO = [{ role: 'user', content: 'hello world' }];
const CITY = {
  type: 'object',
  properties: { city: { type: 'string', enum: ['Paris', 'Rome'] } },
  required: ['city'],
  additionalProperties: false,
};

const kindsOf =
  (path: string, base: Fields) =>
  (title: string, fields: Fields, only?: EngineName[]): DialectKind => ({
    path,
    title,
    body: { ...base, ...fields },
    ...(only ? { only } : {}),
  });

/** Deterministic. */
const response = kindsOf('/responses', { input: 'hello world', temperature: 0, max_output_tokens: 80 });
const message = kindsOf('/messages', { messages: HELLO, temperature: 0, max_tokens: 80 });
const count = kindsOf('/messages/count_tokens', { messages: HELLO });
const countInput = kindsOf('/responses/input_tokens', { input: 'hello world' });

export const DIALECT_KINDS: DialectKind[] = [
  response('a text', {}),
  response(
    'instructions and turns',
    {
      instructions: 'be nice',
      input: [
        { role: 'user', content: 'hello' },
        { role: 'assistant', content: 'hi' },
        { role: 'user', content: [{ type: 'input_text', text: 'the quick fox' }] },
      ],
    },
    VLLM,
  ),
  response(
    'a JSON schema',
    { text: { format: { type: 'json_schema', name: 'answer', strict: true, schema: CITY } } },
    VLLM,
  ),
  response(
    'a required tool',
    { tools: [{ type: 'function', name: 'weather', parameters: CITY }], tool_choice: 'required' },
    VLLM,
  ),
  message('a text', {}),
  message('a system prompt and turns', {
    system: 'be nice',
    messages: [
      ...HELLO,
      { role: 'assistant', content: 'hi' },
      { role: 'user', content: [{ type: 'text', text: 'the quick fox' }] },
    ],
  }),
  message('a stop sequence', { stop_sequences: ['e'] }),
  message(
    'a tool that has to be used',
    { tools: [{ name: 'weather', description: 'w', input_schema: CITY }], tool_choice: { type: 'any' } },
    VLLM,
  ),
  countInput('a text', {}, ['llama-cpp']),
  countInput('instructions', { instructions: 'be nice' }, ['llama-cpp']),
  count('a text', {}),
  count('a system prompt and tools', {
    system: 'be nice',
    tools: [{ name: 'weather', description: 'w', input_schema: CITY }],
  }),
];

const tokens = (path: string, title: string, body: Fields, only?: EngineName[]): DialectKind => ({
  path,
  title,
  body,
  ...(only ? { only } : {}),
});

/** The endpoint uses vLLM's format. */
export const TOKEN_KINDS: DialectKind[] = [
  tokens('/tokenize', 'a text', { prompt: 'hello world' }, VLLM),
  tokens('/tokenize', 'a text with its pieces', { prompt: 'hello world', return_token_strs: true }, VLLM),
  tokens('/tokenize', 'a conversation', { messages: HELLO }, VLLM),
  tokens('/detokenize', 'tokens', { tokens: [50, 51, 52] }, VLLM),
];

/** For engines with a format of their own. */
export interface TranslatedKind extends DialectKind {
  /** The same request in the engine's format. */
  own: Fields;
  /** The engine's response in the endpoint's format. */
  read(answer: Fields): Fields;
}

const LLAMA: EngineName[] = ['llama-cpp'];
const TEXT = 'hello world';

export const TRANSLATED_TOKEN_KINDS: TranslatedKind[] = [
  {
    ...tokens('/tokenize', 'a text', { prompt: TEXT }, LLAMA),
    own: { content: TEXT, add_special: true },
    read: ({ tokens }) => ({ tokens, count: (tokens as number[]).length }),
  },
  {
    ...tokens(
      '/tokenize',
      'a text without special tokens',
      { prompt: TEXT, add_special_tokens: false },
      LLAMA,
    ),
    own: { content: TEXT, add_special: false },
    read: ({ tokens }) => ({ tokens, count: (tokens as number[]).length }),
  },
  {
    ...tokens('/tokenize', 'a text with its pieces', { prompt: TEXT, return_token_strs: true }, LLAMA),
    own: { content: TEXT, add_special: true, with_pieces: true },
    read: ({ tokens }) => ({
      tokens: (tokens as { id: number }[]).map(({ id }) => id),
      token_strs: (tokens as { piece: string }[]).map(({ piece }) => piece),
    }),
  },
  {
    ...tokens('/detokenize', 'tokens', { tokens: [280, 281, 282] }, LLAMA),
    own: { tokens: [280, 281, 282] },
    read: ({ content }) => ({ prompt: content }),
  },
];
