/** What a GPU shows of a model that chats. */
import { type Checks, judge, MAX_REASON, type Outcome, post, requireOk } from './endpoint.ts';
import { checkLeaving, measureRates } from './rates.ts';

const LONG_PROMPT = 'The ship came into the harbor at dawn. '.repeat(200);
/** Without its word for the dialect. */
export const TOOL = {
  name: 'get_weather',
  description: 'Get the current weather of a city',
  schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};
export const TOOL_PROMPT = 'What is the weather in Paris? Use the tool.';
/** A model that thinks first needs them. */
const TOOL_TOKENS = 512;
const MAX_TOKENS_OF_A_MODEL = 100_000_000;
const LEAVING_CLIENTS = 32;

interface Logprob {
  logprob: number;
}

export interface Choice {
  index: number;
  finish_reason: string;
  message: {
    content: string | null;
    /** As vLLM calls it, and as others do. */
    reasoning?: string | null;
    reasoning_content?: string | null;
    tool_calls?: object[];
  };
  logprobs?: { content: (Logprob & { top_logprobs: Logprob[] })[] | null } | null;
}

interface Chat {
  choices: Choice[];
  usage: {
    prompt_tokens: number;
    completion_tokens: number;
    prompt_tokens_details?: { cached_tokens?: number } | null;
  };
}

export async function chat(fields: object): Promise<Chat> {
  const response = await post('/chat/completions', {
    messages: [{ role: 'user', content: 'Say hello.' }],
    max_tokens: 64,
    ...fields,
  });
  return (await (await requireOk(response)).json()) as Chat;
}

async function checkTools(): Promise<Outcome> {
  const { schema: parameters, ...tool } = TOOL;
  const { choices } = await chat({
    messages: [{ role: 'user', content: TOOL_PROMPT }],
    tools: [{ type: 'function', function: { ...tool, parameters } }],
    max_tokens: TOOL_TOKENS,
  });
  const { finish_reason, message } = choices[0]!;
  return judge((message.tool_calls ?? []).length > 0, `finish_reason ${finish_reason}`);
}

async function checkCachedTokens(): Promise<Outcome> {
  const body = { messages: [{ role: 'user', content: `${LONG_PROMPT}How did it come?` }], max_tokens: 1 };
  await chat(body);
  const cached = (await chat(body)).usage.prompt_tokens_details?.cached_tokens ?? 0;
  return judge(cached > 0, `${cached} tokens of the second request`);
}

const checkChatLeaving = (): Promise<Outcome> =>
  checkLeaving({
    clients: LEAVING_CLIENTS,
    ask: () => chat({ max_tokens: 16 }),
    open: (signal) =>
      post(
        '/chat/completions',
        { messages: [{ role: 'user', content: 'Count to ten thousand.' }], max_tokens: 4096, stream: true },
        { signal },
      ),
  });

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

const measureSpeed = (): Promise<Outcome> =>
  measureRates(
    'tokens',
    async () => (await chat({ max_tokens: 128, ignore_eos: true })).usage.completion_tokens,
  );

export const CHAT_CHECKS: Checks = {
  'tools are called without being asked for by name': checkTools,
  'cached tokens are reported': checkCachedTokens,
  'clients that leave free the engine': checkChatLeaving,
  'a request for more than the context is refused, and the engine serves on': checkTooLong,
  speed: measureSpeed,
};
