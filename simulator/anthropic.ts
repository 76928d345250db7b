/** POST /v1/messages and /v1/messages/count_tokens, as in Anthropic's API. */
import { type Answer, countCached, makeAnswerId, type PlanContext, sumUsage } from './answer.ts';
import { type Chat, type ChatChoice, makeChat } from './chat.ts';
import { type EngineError, refuse, refuseField } from './errors.ts';
import { type Fields, isObject, readBoolean } from './fields.ts';
import { type MessageBody, streamMessage } from './message-stream.ts';
import { planTranslated } from './translated-chat.ts';

export function planMessage(body: Fields, context: PlanContext): Answer {
  if (body.max_tokens === undefined) throw refuseField(['max_tokens'], 'Field required');
  return planTranslated(
    {
      chat: readRequest(body),
      isStreamed: readBoolean(body, 'stream'),
      buildBody: (chat, choice) => checkInputs(describeMessage(chat, choice)),
      stream: (chat, choice) => streamMessage(describeMessage(chat, choice), choice),
    },
    context,
  );
}

export function planCount(body: Fields, context: PlanContext): Answer {
  const { usage } = makeChat(
    { ...readRequest(body), max_tokens: 1 },
    { ...context, contextTokens: Infinity, cache: null },
  );
  return {
    steps: 0,
    usage: sumUsage(0, 0),
    buildBody: () => ({ input_tokens: usage.prompt_tokens }),
    frames: null,
  };
}

export const describeAnthropicError = ({ status, message }: EngineError): object => ({
  type: 'error',
  error: { type: status < 500 ? 'invalid_request_error' : 'api_error', message },
});

function readRequest(body: Fields): Fields {
  const { temperature, top_p, max_tokens, stop_sequences, tools } = body;
  return {
    messages: readChatMessages(body),
    temperature,
    top_p,
    max_tokens,
    stop: stop_sequences,
    tools: Array.isArray(tools) ? tools.map(readTool) : undefined,
    ...readToolChoice(body.tool_choice),
  };
}

const readTool = (tool: unknown): unknown =>
  isObject(tool)
    ? { type: 'function', function: { name: tool.name, parameters: tool.input_schema, strict: tool.strict } }
    : tool;

function readToolChoice(choice: unknown): Fields {
  if (!isObject(choice)) return {};
  const { type, name, disable_parallel_tool_use: isSingle } = choice;
  return {
    tool_choice:
      type === 'tool' ? { type: 'function', function: { name } } : type === 'any' ? 'required' : type,
    parallel_tool_calls: isSingle !== true,
  };
}

/** As a chat's, the system prompt first. */
export function readChatMessages({ system, messages }: Fields): unknown[] {
  if (!Array.isArray(messages)) throw refuseField(['messages'], 'Field required');
  const first = system === undefined || system === null ? [] : [{ role: 'system', content: system }];
  return [...first, ...messages.flatMap(readMessage)];
}

/** Results of tools are messages of their own in a chat. */
function readMessage(message: unknown): unknown[] {
  if (!isObject(message) || !Array.isArray(message.content)) return [message];
  const blocks = message.content.filter(isObject);
  const results = blocks
    .filter(({ type }) => type === 'tool_result')
    .map(({ content }) => ({ role: 'tool', content: readBlocks(content) }));
  const calls = blocks.filter(({ type }) => type === 'tool_use');
  const rest = readBlocks(blocks.filter(({ type }) => type !== 'tool_result' && type !== 'tool_use'));
  if (results.length > 0 && (rest as unknown[]).length === 0) return results;
  return [...results, { role: message.role, content: rest, ...(calls.length > 0 && { tool_calls: calls }) }];
}

const readBlocks = (content: unknown): unknown =>
  Array.isArray(content) ? content.filter(isObject).flatMap(readBlock) : content;

function readBlock(block: Fields): unknown[] {
  if (block.type === 'thinking' || block.type === 'redacted_thinking') return [];
  if (block.type !== 'image') return [block];
  const { type, url, media_type, data } = isObject(block.source) ? block.source : {};
  return [
    {
      type: 'image_url',
      image_url: { url: type === 'url' ? url : `data:${String(media_type)};base64,${String(data)}` },
    },
  ];
}

const STOP_REASONS = { stop: 'end_turn', length: 'max_tokens', tool_calls: 'tool_use' } as const;

const describeMessage = (chat: Chat, choice: ChatChoice): MessageBody => ({
  id: makeAnswerId('msg').replace('-', '_'),
  type: 'message',
  role: 'assistant',
  model: chat.model,
  content: describeContent(choice),
  stop_reason: choice.stop === undefined ? STOP_REASONS[choice.finish] : 'stop_sequence',
  stop_sequence: choice.stop ?? null,
  usage: {
    input_tokens: chat.usage.prompt_tokens - countCached(chat.usage),
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: countCached(chat.usage),
    output_tokens: chat.usage.completion_tokens,
  },
});

const describeContent = ({ tokens, toolCalls }: ChatChoice): Fields[] =>
  toolCalls.length > 0
    ? toolCalls.map((call) => ({
        type: 'tool_use',
        id: `toolu_${call.id.slice('call_'.length)}`,
        name: call.name,
        input: JSON.parse(call.arguments),
      }))
    : [{ type: 'text', text: tokens.join('') }];

/** As in vLLM 0.32, which validates what its model wrote only in whole answers. */
function checkInputs(message: MessageBody): MessageBody {
  for (const { input } of message.content)
    if (input !== undefined && !isObject(input))
      throw refuse(
        `1 validation error for AnthropicContentBlock\ninput\n  Input should be a valid dictionary [type=dict_type, input_value=${String(input)}]`,
      );
  return message;
}
