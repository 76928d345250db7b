/** Users at a steady rate: unmodified SDKs that chat through the ingress and never retry. */
import type OpenAI from 'openai';
import type { EndpointEntry } from '../../launch/endpoints-file.ts';
import { pollUntil } from '../support/poll.ts';
import { connect } from './installation.ts';
import { send } from './media.ts';

const INTERVAL_MS = 200;

export interface Traffic {
  /** Ends it, waits for what is under way, and tells what was seen. */
  stop(): Promise<{ answers: number; failures: string[]; slowestMs: number }>;
  /** Resolves when so many more answers have come to their end. */
  more(count: number): Promise<void>;
}

/** Every 200 ms a new chat, by turns as a stream and at once. */
export function startTraffic(endpoint: EndpointEntry): Traffic {
  const client = connect(endpoint);
  return repeat((turn) => {
    const [what, ask] =
      turn % 2 === 0 ? (['stream', readStream] as const) : (['answer', readAnswer] as const);
    return { what, answer: ask(client, endpoint.modelId) };
  });
}

/** Reads a deployment's queued requests every 200 ms, which its front answers where no replica is. */
export function startListing(endpoint: EndpointEntry): Traffic {
  const list = async () => {
    const { status, body } = await send(endpoint, '/requests?limit=1');
    if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  };
  return repeat(() => ({ what: 'list', answer: list() }));
}

function repeat(ask: (turn: number) => { what: string; answer: PromiseLike<unknown> }): Traffic {
  const running = new Set<Promise<void>>();
  const failures: string[] = [];
  let answers = 0;
  let started = 0;
  let slowestMs = 0;
  const send = () => {
    const at = new Date().toISOString().slice(11, 23);
    const startedAt = performance.now();
    const { what, answer } = ask(started++);
    const request: Promise<void> = Promise.resolve(answer)
      .then(
        () => {
          answers++;
          slowestMs = Math.max(slowestMs, performance.now() - startedAt);
        },
        (error: Error) => {
          failures.push(`${at} ${what}: ${describeError(error)}`);
        },
      )
      .finally(() => running.delete(request));
    running.add(request);
  };
  const timer = setInterval(send, INTERVAL_MS);
  return {
    stop: async () => {
      clearInterval(timer);
      await Promise.all(running);
      return { answers, failures, slowestMs };
    },
    more: async (count) => {
      const goal = answers + failures.length + count;
      await pollUntil(() => answers + failures.length >= goal, 'more answers', 600_000);
    },
  };
}

const MESSAGES: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Tell me about harbours.' }];

async function readAnswer(client: OpenAI, model: string): Promise<void> {
  const answer = await client.chat.completions.create({ model, messages: MESSAGES });
  if (!answer.choices[0]!.message.content) throw new Error('an empty answer');
}

/** A stream is whole if it has a finish reason; the SDK throws at an error event. */
async function readStream(client: OpenAI, model: string): Promise<void> {
  let reason: string | null = null;
  for await (const chunk of await client.chat.completions.create({ model, messages: MESSAGES, stream: true }))
    reason = chunk.choices[0]?.finish_reason ?? reason;
  if (!reason) throw new Error('the stream ended without a reason');
}

/** Begins with the status and code of an error response, if there is one, and ends with the cause of a cut connection. */
export function describeError(
  error: Error & { status?: number; code?: string | null; cause?: unknown },
): string {
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : '';
  return [error.status, error.code, `${error.message}${cause}`].filter(Boolean).join(' ');
}
