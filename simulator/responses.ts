/** POST /v1/responses, as an engine without a store answers it. */
import { type Answer, countCached, makeAnswerId, type PlanContext } from './answer.ts';
import { strip, stripFrames } from './bare-response.ts';
import type { Chat, ChatChoice } from './chat.ts';
import { refuseField } from './errors.ts';
import type { Exchange } from './exchange.ts';
import { type Fields, isObject, readBoolean, readObject } from './fields.ts';
import { type ResponseBody, streamResponse } from './response-stream.ts';
import { describeCall, listTools, readToolChoice } from './response-tools.ts';
import { planTranslated } from './translated-chat.ts';

export function planResponse(body: Fields, context: PlanContext, { engine }: Exchange): Answer {
  const isStreamed = readBoolean(body, 'stream');
  const describe = (chat: Chat, choice: ChatChoice) => describeResponse(body, chat, choice);
  const isBare = engine.personality.responses === 'bare';
  return planTranslated(
    {
      chat: readRequest(body),
      isStreamed,
      buildBody: (chat, choice) => {
        const response = describe(chat, choice);
        return isBare ? strip(response) : response;
      },
      stream: (chat, choice) => {
        const frames = streamResponse(describe(chat, choice), choice);
        return isBare ? stripFrames(frames) : frames;
      },
    },
    context,
  );
}

function readRequest(body: Fields): Fields {
  const { temperature, top_p, seed, parallel_tool_calls } = body;
  return {
    messages: readMessages(body),
    temperature,
    top_p,
    seed,
    parallel_tool_calls,
    max_tokens: body.max_output_tokens,
    response_format: readFormat(body),
    tools: listTools(body.tools).map((tool) => ({ type: 'function', function: tool.function })),
    tool_choice: readToolChoice(body.tool_choice),
  };
}

function readMessages({ input, instructions }: Fields): unknown[] {
  const system = typeof instructions === 'string' ? [{ role: 'system', content: instructions }] : [];
  if (typeof input === 'string') return [...system, { role: 'user', content: input }];
  if (!Array.isArray(input)) throw refuseField(['input'], 'Field required');
  return [...system, ...input.flatMap(readItem)];
}

function readItem(item: unknown, index: number): unknown[] {
  if (!isObject(item)) throw refuseField(['input', index], 'Input should be a valid dictionary');
  switch (item.type ?? 'message') {
    case 'message':
      return [{ role: item.role, content: readContent(item.content) }];
    case 'function_call':
    case 'custom_tool_call':
      return [{ role: 'assistant', content: null, tool_calls: [item] }];
    case 'function_call_output':
    case 'custom_tool_call_output':
      return [{ role: 'tool', content: readContent(item.output) }];
    case 'reasoning':
      return [];
    default:
      throw refuseField(['input', index, 'type'], `Unsupported item type: ${String(item.type)}`);
  }
}

const readContent = (content: unknown): unknown =>
  Array.isArray(content)
    ? content.map((part) =>
        isObject(part) && part.type === 'input_image'
          ? { type: 'image_url', image_url: { url: part.image_url } }
          : part,
      )
    : content;

export const peekInputItems = (input: unknown): unknown =>
  Array.isArray(input)
    ? input.map((item) => (isObject(item) ? { ...item, content: readContent(item.content) } : item))
    : [{ role: 'user', content: input }];

function readFormat(body: Fields): unknown {
  const format = readObject(body, 'text')?.format;
  if (!isObject(format) || format.type !== 'json_schema') return format;
  return { type: 'json_schema', json_schema: { schema: format.schema } };
}

function describeResponse(body: Fields, chat: Chat, choice: ChatChoice): ResponseBody {
  const isCut = choice.finish === 'length';
  const { prompt_tokens: input, completion_tokens: output } = chat.usage;
  return {
    id: makeAnswerId('resp').replace('-', '_'),
    object: 'response',
    created_at: chat.created,
    completed_at: chat.created,
    status: isCut ? 'incomplete' : 'completed',
    incomplete_details: isCut ? { reason: 'max_output_tokens' } : null,
    error: null,
    model: chat.model,
    instructions: body.instructions ?? null,
    output: describeOutput(body, choice, isCut),
    tools: Array.isArray(body.tools) ? body.tools.map(echoTool) : [],
    tool_choice: body.tool_choice ?? 'auto',
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    max_output_tokens: body.max_output_tokens ?? null,
    max_tool_calls: body.max_tool_calls ?? null,
    temperature: body.temperature ?? 1,
    top_p: body.top_p ?? 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    top_logprobs: 0,
    truncation: body.truncation ?? 'disabled',
    text: body.text ?? { format: { type: 'text' } },
    reasoning: body.reasoning ?? null,
    metadata: body.metadata ?? {},
    previous_response_id: null,
    store: body.store ?? true,
    background: false,
    service_tier: 'default',
    safety_identifier: null,
    prompt_cache_key: null,
    usage: {
      input_tokens: input,
      input_tokens_details: { cached_tokens: countCached(chat.usage) },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: input + output,
    },
  };
}

/** With the defaults of what the request left out. */
const echoTool = (tool: Fields): Fields =>
  tool.type === 'function' ? { description: null, parameters: null, strict: false, ...tool } : tool;

function describeOutput(body: Fields, { tokens, toolCalls }: ChatChoice, isCut: boolean): Fields[] {
  if (toolCalls.length > 0) {
    const tools = listTools(body.tools);
    return toolCalls.map((call) => describeCall(call, tools));
  }
  return [
    {
      id: makeAnswerId('msg').replace('-', '_'),
      type: 'message',
      role: 'assistant',
      status: isCut ? 'incomplete' : 'completed',
      content: [{ type: 'output_text', text: tokens.join(''), annotations: [], logprobs: [] }],
    },
  ];
}
