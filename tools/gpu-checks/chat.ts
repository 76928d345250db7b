/** What a GPU shows of a model that chats. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Checks,
  failed,
  findReason,
  judge,
  MAX_REASON,
  ms,
  type Outcome,
  passed,
  post,
  requireOk,
  timeOf,
} from './endpoint.ts';

const LONG_PROMPT = 'The ship came into the harbor at dawn. '.repeat(200);
const TOOL = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'Get the current weather of a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};
const LEAVE_TIMEOUT_MS = 10_000;
const MAX_TOKENS_OF_A_MODEL = 100_000_000;
const LEAVING_CLIENTS = 32;

interface Chat {
  choices: { finish_reason: string; message: { content: string | null; tool_calls?: object[] } }[];
  usage: { completion_tokens: number; prompt_tokens_details?: { cached_tokens?: number } | null };
}

async function chat(fields: object): Promise<Chat> {
  const response = await post('/chat/completions', {
    messages: [{ role: 'user', content: 'Say hello.' }],
    max_tokens: 64,
    ...fields,
  });
  return (await (await requireOk(response)).json()) as Chat;
}

async function checkTools(): Promise<Outcome> {
  const { choices } = await chat({
    messages: [{ role: 'user', content: 'What is the weather in Paris? Use the tool.' }],
    tools: [TOOL],
    max_tokens: 512,
  });
  const [{ finish_reason, message }] = choices as [Chat['choices'][0]];
  return judge((message.tool_calls ?? []).length > 0, `finish_reason ${finish_reason}`);
}

async function checkCachedTokens(): Promise<Outcome> {
  const body = { messages: [{ role: 'user', content: `${LONG_PROMPT}How did it come?` }], max_tokens: 1 };
  await chat(body);
  const cached = (await chat(body)).usage.prompt_tokens_details?.cached_tokens ?? 0;
  return judge(cached > 0, `${cached} tokens of the second request`);
}

/** The endpoint's own answers after a client left are as fast as before: the engine does not go on with what nobody reads. */
async function checkLeaving(): Promise<Outcome> {
  const quiet = await timeOf(() => chat({ max_tokens: 16 }));
  const leaving = Array.from({ length: LEAVING_CLIENTS }, async () => {
    const client = new AbortController();
    const response = await post(
      '/chat/completions',
      { messages: [{ role: 'user', content: 'Count to ten thousand.' }], max_tokens: 4096, stream: true },
      client.signal,
    );
    await (await requireOk(response)).body?.getReader().read();
    client.abort();
  });
  const refusal = findReason(await Promise.allSettled(leaving));
  if (refusal) return failed(`a client could not leave, since it was refused: ${refusal}`);
  await sleep(1_000);
  const after = await timeOf(() => chat({ max_tokens: 16 }));
  return judge(
    after < 2 * quiet + 100 && after < LEAVE_TIMEOUT_MS,
    `${ms(quiet)} before, ${ms(after)} after`,
  );
}

/** Prompts that fit into no memory are the client's mistake, and the engine lives on. */
async function checkTooLong(): Promise<Outcome> {
  const response = await post('/chat/completions', {
    messages: [{ role: 'user', content: 'Hello.' }],
    max_tokens: MAX_TOKENS_OF_A_MODEL,
  });
  if (response.status === 429) await requireOk(response);
  const text = await response.text();
  await chat({ max_tokens: 4 });
  return judge(response.status === 400, `${response.status} ${text.slice(0, MAX_REASON)}`);
}

/** For the record: how fast it is, with one and with many requests at a time, all of which are answered. */
async function measureSpeed(): Promise<Outcome> {
  const rates: string[] = [];
  for (const clients of [1, 16, 64]) {
    const start = performance.now();
    const answers = await Promise.allSettled(
      Array.from({ length: clients }, () => chat({ max_tokens: 128, ignore_eos: true })),
    );
    const seconds = (performance.now() - start) / 1_000;
    const good = answers.filter((answer) => answer.status === 'fulfilled');
    const tokens = good.reduce((sum, { value }) => sum + value.usage.completion_tokens, 0);
    rates.push(`${clients} clients: ${Math.round(tokens / seconds)} tokens/s, ${good.length} whole`);
    const reason = findReason(answers);
    if (reason) return failed([...rates, reason].join('; '));
  }
  return passed(rates.join('; '));
}

export const CHAT_CHECKS: Checks = {
  'tools are called without being asked for by name': checkTools,
  'cached tokens are reported': checkCachedTokens,
  'clients that leave free the engine': checkLeaving,
  'a request for more than the context is refused, and the engine serves on': checkTooLong,
  speed: measureSpeed,
};
