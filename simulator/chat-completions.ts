/** POST /v1/chat/completions: the whole answer, or the chunks of a stream (role, tokens or tool calls, finish reason, usage). */
import { type Answer, type Frame, type PlanContext, sumUsage } from './answer.ts';
import { type Chat, type ChatChoice, countChoice, makeChat } from './chat.ts';
import type { Exchange } from './exchange.ts';
import { type Fields, readBoolean } from './fields.ts';
import { describeChatTokens } from './logprobs.ts';
import { splitTokens } from './text.ts';
import type { ToolCall } from './tools.ts';

export function planChat(body: Fields, context: PlanContext, { engine }: Exchange): Answer {
  const made = makeChat(body, context);
  const chat = engine.personality.text?.finishChat(body, made) ?? made;
  return {
    steps: Math.max(...chat.choices.map(countChoice)),
    usage: chat.usage,
    conversation: chat.conversation,
    buildBody: () => buildChatBody(chat),
    frames: readBoolean(body, 'stream') ? () => streamChat(chat) : null,
  };
}

function buildChatBody(chat: Chat): object {
  return {
    id: chat.id,
    object: 'chat.completion',
    created: chat.created,
    model: chat.model,
    choices: chat.choices.map(({ tokens, toolCalls, finish, stop }, index) => ({
      index,
      ...(stop !== undefined && { stop_reason: stop }),
      message: {
        role: 'assistant',
        content: toolCalls.length > 0 && tokens.length === 0 ? null : tokens.join(''),
        refusal: null,
        ...(toolCalls.length > 0 ? { tool_calls: toolCalls.map(describeToolCall) } : {}),
      },
      logprobs: chat.topLogprobs === null ? null : describeChatTokens(tokens, chat.topLogprobs),
      finish_reason: finish,
    })),
    usage: chat.usage,
  };
}

const describeToolCall = ({ id, name, arguments: text }: ToolCall): object => ({
  id,
  type: 'function',
  function: { name, arguments: text },
});

interface Part {
  delta: object;
  /** The text whose log probabilities go with the chunk. */
  token?: string;
}

function streamChat(chat: Chat): Iterable<Frame> {
  return chat.withContinuousUsage ? addUsage(chat, listFrames(chat)) : listFrames(chat);
}

/** Reports the text so far with each frame; every token has its own frame. */
function* addUsage({ usage }: Chat, frames: Iterable<Frame>): Generator<Frame> {
  let said = 0;
  for (const frame of frames) {
    const { choices } = frame.data as { choices: { delta: object; finish_reason: unknown }[] };
    said += choices.filter(({ delta }) => Object.keys(delta).length > 0 && !('role' in delta)).length;
    yield { ...frame, data: { ...frame.data, usage: { ...usage, ...sumUsage(usage.prompt_tokens, said) } } };
  }
}

/** Choices take turns, a token each, as an engine decodes them together. */
function* listFrames(chat: Chat): Generator<Frame> {
  const parts = chat.choices.map(listParts);
  for (const index of parts.keys())
    yield frame(chat, 0, {
      index,
      delta: { role: 'assistant', content: '' },
      logprobs: null,
      finish_reason: null,
    });
  const steps = Math.max(...parts.map(({ length }) => length));
  for (let step = 0; step <= steps; step++)
    for (const [index, list] of parts.entries()) {
      const part = list[step];
      if (part) yield frame(chat, step, describePart(chat, index, part));
      // The finish reason is known with the last token, so it costs no step of its own.
      if (step === Math.max(list.length - 1, 0))
        yield frame(chat, step, {
          index,
          delta: {},
          logprobs: null,
          finish_reason: chat.choices[index]!.finish,
        });
    }
  if (chat.withUsage) yield { step: steps, data: { ...head(chat), choices: [], usage: chat.usage } };
}

function listParts({ tokens, toolCalls }: ChatChoice): Part[] {
  if (toolCalls.length === 0) return tokens.map((token) => ({ delta: { content: token }, token }));
  return toolCalls.flatMap((call, index) => [
    {
      delta: {
        tool_calls: [{ index, id: call.id, type: 'function', function: { name: call.name, arguments: '' } }],
      },
    },
    ...splitTokens(call.arguments).map((piece) => ({
      delta: { tool_calls: [{ index, function: { arguments: piece } }] },
    })),
  ]);
}

const describePart = (chat: Chat, index: number, { delta, token }: Part): object => ({
  index,
  delta,
  logprobs:
    chat.topLogprobs === null || token === undefined ? null : describeChatTokens([token], chat.topLogprobs),
  finish_reason: null,
});

const frame = (chat: Chat, step: number, choice: object): Frame => ({
  step,
  data: { ...head(chat), choices: [choice] },
});

const head = (chat: Chat): object => ({
  id: chat.id,
  object: 'chat.completion.chunk',
  created: chat.created,
  model: chat.model,
});
