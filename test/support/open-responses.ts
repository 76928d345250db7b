/**
 * What Open Responses requires of a response (`responseResourceSchema` of openresponses/openresponses), which is more than
 * OpenAI's types do: of its members that answers of text and functions have.
 */
import { Ajv } from 'ajv';

const nullable = (schema: object) => ({ anyOf: [schema, { type: 'null' }] });
const record = (properties: Record<string, object>) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
});
const text = { type: 'string' };
const integer = { type: 'integer' };
const number = { type: 'number' };
const flag = { type: 'boolean' };
const oneOf = (...values: string[]) => ({ enum: values });

const part = {
  type: 'object',
  required: ['type'],
  if: { properties: { type: { const: 'output_text' } } },
  // biome-ignore lint/suspicious/noThenProperty: a word of JSON Schema.
  then: record({ text, annotations: { type: 'array' }, logprobs: { type: 'array' } }),
};
const STATES = oneOf('in_progress', 'completed', 'incomplete');
const item = {
  oneOf: [
    record({
      type: { const: 'message' },
      id: text,
      status: STATES,
      role: text,
      content: { type: 'array', items: part },
    }),
    record({
      type: { const: 'function_call' },
      id: text,
      call_id: text,
      name: text,
      arguments: text,
      status: STATES,
    }),
    record({ type: { const: 'reasoning' }, id: text, summary: { type: 'array' } }),
  ],
};
const tool = record({
  type: { const: 'function' },
  name: text,
  description: nullable(text),
  parameters: nullable({ type: 'object' }),
  strict: nullable(flag),
});

const RESPONSE = record({
  id: text,
  object: { const: 'response' },
  created_at: integer,
  completed_at: nullable(integer),
  status: text,
  incomplete_details: nullable(record({ reason: text })),
  model: text,
  previous_response_id: nullable(text),
  instructions: nullable(text),
  output: { type: 'array', items: item },
  error: nullable(record({ code: text, message: text })),
  tools: { type: 'array', items: tool },
  tool_choice: { anyOf: [oneOf('none', 'auto', 'required'), record({ type: text })] },
  truncation: oneOf('auto', 'disabled'),
  parallel_tool_calls: flag,
  text: record({ format: record({ type: text }) }),
  top_p: number,
  presence_penalty: number,
  frequency_penalty: number,
  top_logprobs: integer,
  temperature: number,
  reasoning: nullable(record({ effort: nullable(text), summary: nullable(text) })),
  usage: nullable(
    record({
      input_tokens: integer,
      output_tokens: integer,
      total_tokens: integer,
      input_tokens_details: record({ cached_tokens: integer }),
      output_tokens_details: record({ reasoning_tokens: integer }),
    }),
  ),
  max_output_tokens: nullable(integer),
  max_tool_calls: nullable(integer),
  store: flag,
  background: flag,
  service_tier: text,
  metadata: { type: 'object' },
  safety_identifier: nullable(text),
  prompt_cache_key: nullable(text),
});

/** Events about items and their parts, such as `response.output_text.delta`. */
const NUMBERS: [RegExp, string][] = [
  [/./, 'sequence_number'],
  [/^response\.(output_|content_|function_call|reasoning)/, 'output_index'],
  [/^response\.(output_text|content_part|reasoning_text)/, 'content_index'],
];

const validate = new Ajv({ strict: false, allErrors: true }).compile(RESPONSE);

/** As text; empty if it is valid. */
export function findResponseFaults(response: unknown): string[] {
  if (validate(response)) return [];
  return (validate.errors ?? []).map(({ instancePath, message }) => `response${instancePath} ${message}`);
}

/** The same for an event of its stream. */
export function findEventFaults(
  event: { type: string; response?: unknown } & Record<string, unknown>,
): string[] {
  const missing = NUMBERS.filter(
    ([name, member]) => name.test(event.type) && !Number.isInteger(event[member]),
  );
  const faults = missing.map(([, member]) => `${event.type} has no ${member}`);
  return event.response === undefined ? faults : [...faults, ...findResponseFaults(event.response)];
}
