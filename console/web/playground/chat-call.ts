/** One streamed chat completion. */

import { type ParamsOf, playgroundRoutes } from '../../routes.ts';
import { CallError, send } from '../client/call.ts';
import type { ChatBody } from '../deployment/chat-snippets.ts';
import type { Usage } from './answer-figures.ts';
import { readEvents } from './event-stream.ts';

interface Delta {
  content?: string | null;
  /** Engines disagree on its name. */
  reasoning?: string | null;
  reasoning_content?: string | null;
}

interface Chunk {
  choices?: { delta?: Delta; finish_reason?: string | null }[];
  usage?: Usage | null;
  error?: { code?: string; message?: string };
}

export interface ChatEnd {
  /** The finish reason: 'stop', 'length'… */
  ending: string;
  /** null where the engine reports none. */
  usage: Usage | null;
}

export type ChatEndpoint = ParamsOf<typeof playgroundRoutes.chat>;

/** Calls `onText` for each chunk, with '' where the model reasons. Throws CallError. */
export async function streamChat(
  endpoint: ChatEndpoint,
  body: ChatBody,
  onText: (text: string) => void,
  signal: AbortSignal,
): Promise<ChatEnd> {
  const request = { ...body, stream: true, stream_options: { include_usage: true } };
  const response = await send(playgroundRoutes.chat, endpoint, request, signal);
  let ending: string | null = null;
  let usage: Usage | null = null;
  for await (const data of readEvents(response.body!)) {
    if (data === '[DONE]') return { ending: ending ?? 'stop', usage };
    const chunk: Chunk = JSON.parse(data);
    const { choices = [], error } = chunk;
    if (error) throw new CallError(502, error.code ?? 'upstream_error', error.message ?? 'The model failed.');
    const [choice] = choices;
    const { content, reasoning, reasoning_content } = choice?.delta ?? {};
    if (content || reasoning || reasoning_content) onText(content ?? '');
    ending = choice?.finish_reason ?? ending;
    usage = chunk.usage ?? usage;
  }
  if (ending === null) throw new CallError(502, 'upstream_error', 'The response ended unexpectedly.');
  return { ending, usage };
}
