/** The streamed answer of a chat. */
import { createParser } from 'eventsource-parser';
import { Failure } from '../framework/failure.ts';
import { describeEnvelope } from './endpoint.ts';

export interface Answer {
  content: string;
  reasoning: string;
  finishReason: string | null;
  usage: object | null;
}

interface Chunk {
  error?: { message: string; code?: string | null };
  choices?: {
    delta?: { content?: string | null; reasoning_content?: string | null; reasoning?: string | null };
    finish_reason?: string | null;
  }[];
  usage?: object | null;
}

export interface Listener {
  onContent(text: string): void;
  onReasoning(text: string): void;
}

/** An event of a chat is far smaller. */
const MAX_EVENT_BYTES = 8 * 1024 ** 2;

/** Throws Failure with the error that broke the stream. */
export async function readAnswer(body: AsyncIterable<Uint8Array>, listener: Listener): Promise<Answer> {
  const answer: Answer = { content: '', reasoning: '', finishReason: null, usage: null };
  let hasEnded = false;
  let unread = 0;
  const take = (data: string) => {
    if (data === '[DONE]') {
      hasEnded = true;
      return;
    }
    const { error, choices, usage } = parseChunk(data);
    if (error) throw new Failure('failed', describeEnvelope(error));
    const { delta, finish_reason: finishReason } = choices?.[0] ?? {};
    const reasoning = delta?.reasoning_content ?? delta?.reasoning ?? '';
    const content = delta?.content ?? '';
    if (reasoning) listener.onReasoning(reasoning);
    if (content) listener.onContent(content);
    answer.reasoning += reasoning;
    answer.content += content;
    answer.finishReason = finishReason ?? answer.finishReason;
    answer.usage = usage ?? answer.usage;
  };
  const parser = createParser({
    onEvent: ({ data }) => {
      unread = 0;
      take(data);
    },
  });
  const decoder = new TextDecoder();
  for await (const bytes of body) {
    unread += bytes.length;
    if (unread > MAX_EVENT_BYTES) throw new Failure('failed', 'the answer has an event of more than 8 MiB');
    parser.feed(decoder.decode(bytes, { stream: true }));
  }
  if (!hasEnded) throw new Failure('failed', 'the connection was closed before the end of the answer');
  return answer;
}

function parseChunk(data: string): Chunk {
  try {
    return JSON.parse(data) as Chunk;
  } catch (error) {
    throw new Failure('failed', 'the answer has an event that is no JSON', { cause: error });
  }
}
