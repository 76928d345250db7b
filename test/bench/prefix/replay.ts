/** Replays the users of a trace concurrently, each with one session after another. */
import { Agent, request } from 'undici';
import { judgeEnding } from '../stream-ending.ts';
import { API_KEY, MODEL } from '../systems.ts';
import type { Message, Trace, Turn } from './traces.ts';

export interface Replay {
  seconds: number;
  requests: number;
  /** Milliseconds from each request to the first event of its answer. */
  firstTokens: number[];
  errors: number;
}

export interface Answer {
  firstTokenMs: number;
  text: string;
}

/** Asks as one of the users; null: the answer was not whole. */
export type Ask = (messages: readonly Message[], turn: Pick<Turn, 'maxTokens'>) => Promise<Answer | null>;

const USERS = 40;

/** `origins`: requests go to them in turn, as from an ingress. */
export async function replayTrace(trace: Trace, origins: readonly string[]): Promise<Replay> {
  const agent = new Agent({ keepAliveTimeout: 30_000 });
  let requests = 0;
  const replay = await playSessions(trace, USERS, (messages, turn) =>
    ask(agent, origins[requests++ % origins.length]!, messages, turn),
  );
  await agent.close();
  return replay;
}

/** The sessions of a trace, each by one of so many users at a time. */
export async function playSessions({ sessions }: Trace, users: number, ask: Ask): Promise<Replay> {
  const waiting = sessions.values();
  const firstTokens: number[] = [];
  let errors = 0;
  let requests = 0;
  const playUser = async () => {
    for (const turns of waiting) {
      const messages: Message[] = [];
      for (const turn of turns) {
        messages.push(...turn.messages);
        requests++;
        const answer = await ask(messages, turn).catch(() => null);
        if (!answer) {
          errors++;
          break;
        }
        firstTokens.push(answer.firstTokenMs);
        messages.push({ role: 'assistant', content: answer.text });
        await new Promise((resolve) => setTimeout(resolve, turn.pauseMs));
      }
    }
  };
  const start = performance.now();
  await Promise.all(Array.from({ length: users }, playUser));
  const seconds = (performance.now() - start) / 1_000;
  return { seconds, requests, firstTokens, errors };
}

async function ask(
  agent: Agent,
  origin: string,
  messages: readonly Message[],
  { maxTokens }: Pick<Turn, 'maxTokens'>,
): Promise<Answer | null> {
  const sentAt = performance.now();
  const { statusCode, body } = await request(`${origin}/v1/chat/completions`, {
    dispatcher: agent,
    method: 'POST',
    headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: MODEL, messages, max_tokens: maxTokens, stream: true }),
  });
  let firstTokenMs = 0;
  let events = '';
  for await (const chunk of body.setEncoding('utf8')) {
    firstTokenMs ||= performance.now() - sentAt;
    events += chunk;
  }
  if (statusCode !== 200 || judgeEnding(events) !== 'whole') return null;
  return { firstTokenMs, text: readText(events) };
}

interface Chunk {
  choices: { delta: { content?: string } }[];
}

const readText = (events: string): string =>
  events
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => (JSON.parse(line.slice(6)) as Chunk).choices[0]?.delta.content ?? '')
    .join('');

/** One short request, to warm up. */
export async function askBriefly(origin: string): Promise<boolean> {
  const agent = new Agent();
  const answer = await ask(agent, origin, [{ role: 'user', content: 'hello' }], { maxTokens: 1 }).catch(
    () => null,
  );
  await agent.close();
  return answer !== null;
}
