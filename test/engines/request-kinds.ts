/** The kinds of chat requests that clients send, and those that an engine refuses. */

import type { Fields } from './answers.ts';
import type { EngineName } from './catalog.ts';

export interface RequestKind {
  title: string;
  body: Fields;
  /** If absent, all engines. */
  only?: EngineName[];
  /** Engines refuse to stream it. */
  isWholeOnly?: true;
}

const HELLO = [{ role: 'user', content: 'hello world' }];
/** Deterministic. */
const BASE = { messages: HELLO, temperature: 0, seed: 7, max_tokens: 60 };

const WEATHER = {
  type: 'function',
  function: {
    name: 'weather',
    description: 'The weather of a city',
    parameters: {
      type: 'object',
      properties: {
        city: { type: 'string', enum: ['Paris', 'Rome'] },
        days: { type: 'integer', enum: [1, 2, 3] },
      },
      required: ['city', 'days'],
      additionalProperties: false,
    },
  },
};
const SCHEMA = {
  type: 'json_schema',
  json_schema: {
    name: 'answer',
    strict: true,
    schema: {
      type: 'object',
      properties: { a: { type: 'string', enum: ['yes', 'no'] }, b: { type: 'boolean' } },
      required: ['a', 'b'],
      additionalProperties: false,
    },
  },
};
const TOOL_TALK = [
  ...HELLO,
  {
    role: 'assistant',
    content: null,
    tool_calls: [
      { id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city":"Paris"}' } },
    ],
  },
  { role: 'tool', tool_call_id: 'c1', content: 'sunny' },
];

const kind = (title: string, fields: Fields, only?: EngineName[]): RequestKind => ({
  title,
  body: { ...BASE, ...fields },
  ...(only ? { only } : {}),
});
const VLLM: EngineName[] = ['vllm'];
/** Engines that serve chats. */
const BOTH: EngineName[] = ['vllm', 'llama-cpp'];

export const CHAT_KINDS: RequestKind[] = [
  kind('a plain one', {}),
  kind('log probabilities', { logprobs: true, top_logprobs: 3, max_tokens: 4 }),
  kind('three choices', { n: 3, temperature: 1, max_tokens: 4 }, VLLM),
  // Its choices are deterministic only with the likeliest token.
  kind('three choices, all the likeliest', { n: 3, max_tokens: 4 }, ['llama-cpp']),
  kind('a stop sequence', { stop: '2' }),
  kind('several stop sequences', { stop: ['1', '3'] }),
  kind('stop tokens', { stop_token_ids: [50] }, VLLM),
  kind('a JSON schema', { response_format: SCHEMA }),
  kind('a JSON object', { response_format: { type: 'json_object' }, max_tokens: 20 }),
  kind(
    'a named tool',
    { tools: [WEATHER], tool_choice: { type: 'function', function: { name: 'weather' } } },
    VLLM,
  ),
  kind('a required tool', { tools: [WEATHER], tool_choice: 'required' }, VLLM),
  kind('tools that the model may take', { tools: [WEATHER] }, BOTH),
  kind('tools that the model may take, told so', { tools: [WEATHER], tool_choice: 'auto' }, BOTH),
  kind('tools that it may not take', { tools: [WEATHER], tool_choice: 'none' }, BOTH),
  kind(
    'no parallel tool calls',
    { tools: [WEATHER], parallel_tool_calls: false, tool_choice: 'required' },
    VLLM,
  ),
  kind('a choice of words', { structured_outputs: { choice: ['red', 'blue'] } }, VLLM),
  kind('max_completion_tokens', { max_completion_tokens: 3, max_tokens: undefined }),
  {
    ...kind('log probabilities of the prompt', { prompt_logprobs: 1, max_tokens: 1 }, VLLM),
    isWholeOnly: true,
  },
  kind('token ids', { return_token_ids: true, max_tokens: 2 }, VLLM),
  kind('a bias of tokens', { logit_bias: { '50': 100 }, max_tokens: 3 }, VLLM),
  kind('min_p, top_k and a repetition penalty', { min_p: 0.1, top_k: 5, repetition_penalty: 1.1 }, VLLM),
  kind('a reasoning effort', { reasoning_effort: 'low' }),
  kind('a service tier, store and metadata', { service_tier: 'auto', store: false, metadata: { a: 'b' } }),
  kind('a developer message', { messages: [{ role: 'developer', content: 'be nice' }, ...HELLO] }, VLLM),
  kind('the answer of a tool', { messages: TOOL_TALK }, VLLM),
  kind('a long prompt', {
    messages: [{ role: 'user', content: 'the quick fox '.repeat(120) }],
    max_tokens: 8,
  }),
];

export const COMPLETION_KINDS: RequestKind[] = [
  { prompt: 'hello' },
  { prompt: 'hello', echo: true, only: VLLM },
  { prompt: 'hello', logprobs: 2, only: VLLM },
  { prompt: ['hello', 'world'], only: VLLM },
  { prompt: 'hello', n: 2, temperature: 1, only: VLLM },
  { prompt: 'hello', stop: ['1', '3'] },
  { prompt: [50, 51, 52] },
].map(({ only, ...fields }) => ({
  title: JSON.stringify(fields),
  body: { temperature: 0, seed: 7, max_tokens: 8, ...fields },
  ...(only ? { only } : {}),
}));

/** The engine responds to each with 400. */
export const REFUSED: RequestKind[] = [
  kind('a temperature of 9', { temperature: 9 }, VLLM),
  kind('a temperature in words', { temperature: 'x' }),
  kind('no choices', { n: 0 }, VLLM),
  kind('no tokens', { max_tokens: 0 }, VLLM),
  kind('more tokens than the context holds', { max_tokens: 99_999 }, VLLM),
  kind('no messages', { messages: [] }, VLLM),
  kind('more log probabilities than there are', { logprobs: true, top_logprobs: 99 }, VLLM),
  kind(
    'a schema that is none',
    { response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'nope' } } } },
    VLLM,
  ),
  kind('a required tool, but no tools', { tool_choice: 'required' }, VLLM),
  kind('a bias of no token', { logit_bias: { '99999999': 1 } }, VLLM),
];

export const TOO_LONG = kind('', { messages: [{ role: 'user', content: 'q'.repeat(40_000) }] }).body;
