/** One streamed chat completion. */
import { CallError, send } from '../client/call.ts';
import { readEvents } from './event-stream.ts';

export interface ChatMessage {
  role: 'user' | 'assistant';
  content: string;
}

interface Chunk {
  choices?: { delta?: { content?: string | null }; finish_reason?: string | null }[];
  error?: { code?: string; message?: string };
}

/** Calls `onText` for each chunk. Returns the finish reason: 'stop', 'length'… Throws CallError. */
export async function streamChat(
  path: string,
  request: { model: string; messages: ChatMessage[] },
  onText: (text: string) => void,
  signal: AbortSignal,
): Promise<string> {
  const response = await send('POST', path, { ...request, stream: true }, signal);
  let ending: string | null = null;
  for await (const data of readEvents(response.body!)) {
    if (data === '[DONE]') return ending ?? 'stop';
    const { choices = [], error }: Chunk = JSON.parse(data);
    if (error) throw new CallError(502, error.code ?? 'upstream_error', error.message ?? 'The model failed.');
    const [choice] = choices;
    if (choice?.delta?.content) onText(choice.delta.content);
    ending = choice?.finish_reason ?? ending;
  }
  if (ending === null) throw new CallError(502, 'upstream_error', 'The response ended unexpectedly.');
  return ending;
}
