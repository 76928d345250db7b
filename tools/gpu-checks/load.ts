/** What an engine does that has more to compute than it can: nothing is lost, and nothing falls over. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isWhole, streamChat, type TimedChat } from './chat-streams.ts';
import {
  type Checks,
  findReason,
  judge,
  MAX_REASON,
  ms,
  type Outcome,
  post,
  skipped,
  timeOf,
} from './endpoint.ts';
import { countPreemptions, watchPods } from './pod-watch.ts';
import { preparePrompts } from './prompts.ts';

const LONG_PROMPTS = 8;
const SHARE_OF_CONTEXT = 0.8;
/** Limit of all long prompts: some contexts are so large that few of them are enough. */
const MAX_TOKENS_AT_ONCE = 1_000_000;
const SHORT_PAUSE_MS = 250;
/** A key has more to do in this minute. */
const MAX_SHORT = 120;
const STREAMS = 64;
const STREAM_PROMPT_TOKENS = 8_192;
const STREAM_TOKENS = 1_024;
const MAX_STREAM_SHARE = 1 / 4;

/** Plans how many prompts of a context fill an engine for a while. */
export function planLongPrompts(context: number): { count: number; tokens: number } {
  const tokens = Math.floor(context * SHARE_OF_CONTEXT);
  return { count: Math.min(LONG_PROMPTS, Math.max(2, Math.floor(MAX_TOKENS_AT_ONCE / tokens))), tokens };
}

const findSlowest = (chats: PromiseSettledResult<TimedChat>[]): number =>
  Math.max(0, ...chats.map((chat) => (chat.status === 'fulfilled' ? chat.value.firstMs : 0)));

interface Beside {
  /** How many had which status. */
  counts: Map<number, number>;
  slowestMs: number;
  /** The first answer that was neither a success nor a refusal for its number. */
  problem?: string;
}

/** Short requests, one after the other until it is over. */
async function askBeside(isOver: () => boolean): Promise<Beside> {
  const beside: Beside = { counts: new Map(), slowestMs: 0 };
  for (let count = 0; count === 0 || (count < MAX_SHORT && !isOver()); count++, await sleep(SHORT_PAUSE_MS)) {
    const messages = [{ role: 'user', content: 'Say hello.' }];
    const time = await timeOf(async () => {
      const response = await post('/chat/completions', { messages, max_tokens: 4 });
      const { status } = response;
      const text = (await response.text()).slice(0, MAX_REASON);
      beside.counts.set(status, (beside.counts.get(status) ?? 0) + 1);
      if (status !== 200 && status !== 429) beside.problem ??= `a short one got ${status} ${text}`;
    });
    beside.slowestMs = Math.max(beside.slowestMs, time);
  }
  return beside;
}

/** Prompts are read for seconds, during which an engine answers little else: that is no reason to restart it. */
async function checkLongPrompts(): Promise<Outcome> {
  const prompts = await preparePrompts();
  if (typeof prompts === 'string') return skipped(prompts);
  const { count, tokens } = planLongPrompts(prompts.context);
  const [[long, beside], pods] = await watchPods(() => {
    let isOver = false;
    const asked = Array.from({ length: count }, () =>
      streamChat({ ...prompts.write(tokens), max_tokens: 16 }),
    );
    const ended = Promise.allSettled(asked).finally(() => {
      isOver = true;
    });
    return Promise.all([ended, askBeside(() => isOver)]);
  });
  const whole = long.filter((chat) => chat.status === 'fulfilled' && isWhole(chat.value.text, 'stop|length'));
  const statuses = [...beside.counts].map(([status, number]) => `${number} × ${status}`).join(', ');
  const reason = findReason(long) ?? beside.problem;
  return judge(
    whole.length === count && !beside.problem && pods.isCalm,
    `${whole.length} of ${count} prompts of about ${tokens} tokens answered, the slowest first token after ${ms(findSlowest(long))}; ` +
      `short requests beside them: ${statuses}, the slowest in ${ms(beside.slowestMs)}${pods.detail}${reason ? `; ${reason}` : ''}`,
  );
}

const readCount = (text: string): number => Number(/.*"completion_tokens": ?(\d+)/s.exec(text)?.[1]);

/** More than most models' KV cache holds: preempted requests are recomputed. */
async function checkManyStreams(): Promise<Outcome> {
  const prompts = await preparePrompts();
  if (typeof prompts === 'string') return skipped(prompts);
  const most = Math.floor(prompts.context * MAX_STREAM_SHARE);
  const tokens = Math.min(STREAM_TOKENS, most);
  const isComplete = (chat: PromiseSettledResult<TimedChat>): boolean =>
    chat.status === 'fulfilled' && isWhole(chat.value.text) && readCount(chat.value.text) === tokens;
  const ask = () =>
    streamChat({
      ...prompts.write(Math.min(STREAM_PROMPT_TOKENS, most)),
      max_tokens: tokens,
      ignore_eos: true,
      stream_options: { include_usage: true },
    });
  const before = await countPreemptions();
  const start = performance.now();
  const [chats, pods] = await watchPods(() => Promise.allSettled(Array.from({ length: STREAMS }, ask)));
  const time = performance.now() - start;
  const after = await countPreemptions();
  const whole = chats.filter(isComplete);
  const broken = chats.find((chat) => chat.status === 'fulfilled' && !isComplete(chat));
  const end =
    broken?.status === 'fulfilled' ? `one ends with ${broken.value.text.slice(-MAX_REASON).trim()}` : '';
  const reason = findReason(chats) ?? end;
  const preempted =
    before === undefined || after === undefined ? '' : `, ${after - before} times one gave way to others`;
  return judge(
    whole.length === STREAMS && pods.isCalm,
    `${whole.length} of ${STREAMS} have all of their ${tokens} tokens, in ${ms(time)}${preempted}; ` +
      `the slowest first token after ${ms(findSlowest(chats))}${pods.detail}${reason ? `; ${reason}` : ''}`,
  );
}

export const LOAD_CHECKS: Checks = {
  'long prompts at once are answered, and the engine stays ready': checkLongPrompts,
  'many long answers at once are whole': checkManyStreams,
};
