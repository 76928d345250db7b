/** Responses as vLLM 0.32 writes them. */
import { type Fields, isObject } from './fields.ts';

export const NO_TRANSFER = { kv_transfer_params: null, ec_transfer_params: null };

export function dressResponse(response: Fields): Fields {
  const { completed_at, error, store, safety_identifier, prompt_cache_key, ...rest } = response;
  const { tools, usage, text } = response as { tools: Fields[]; usage: Fields | null; text: Fields };
  const isPlain = isObject(text.format) && text.format.type === 'text';
  return {
    ...rest,
    metadata: null,
    output: (response.output as Fields[]).map(dressItem),
    tools: tools.map(dressTool),
    ...(tools.length === 0 && { tool_choice: 'none' }),
    text: isPlain ? null : dressFormat(text),
    top_logprobs: null,
    prompt: null,
    user: null,
    ...NO_TRANSFER,
    input_messages: null,
    output_messages: null,
    usage: usage && dressResponseUsage(usage),
  };
}

const dressFormat = (text: Fields): Fields => ({
  verbosity: null,
  ...text,
  format: { description: null, ...(text.format as Fields) },
});

const dressResponseUsage = (usage: Fields): Fields => ({
  ...usage,
  input_tokens_details: {
    ...(usage.input_tokens_details as Fields),
    cache_write_tokens: 0,
    input_tokens_per_turn: [],
    cached_tokens_per_turn: [],
  },
  output_tokens_details: {
    ...(usage.output_tokens_details as Fields),
    tool_output_tokens: 0,
    output_tokens_per_turn: [],
    tool_output_tokens_per_turn: [],
  },
});

export function dressItem(item: Fields): Fields {
  if (item.type === 'function_call') return { async: null, caller: null, namespace: null, ...item };
  if (item.type !== 'message') return item;
  const isBegun = item.status === 'in_progress';
  return {
    ...item,
    phase: null,
    ...(!isBegun && {
      status: 'completed',
      content: (item.content as Fields[]).map((part) => ({ ...part, logprobs: null })),
    }),
  };
}

const dressTool = (tool: Fields): Fields => ({
  ...tool,
  ...(tool.strict === false && { strict: null }),
  allowed_callers: null,
  async: null,
  defer_loading: null,
  output_schema: null,
});
