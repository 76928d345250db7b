/**
 * What a machine without a GPU cannot show: `URL=https://…/v1 KEY=sk-… node tools/gpu-check.ts` for an endpoint whose engine runs on
 * a GPU. With DEPLOYMENT (and NAMESPACE, CONTEXT) it looks at the pods with kubectl, too, and replaces one of them.
 * The key needs 1,000 requests per minute. Writes a line for each check; exits with 1 if one failed.
 */
import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

type Outcome = { verdict: 'passed' | 'failed' | 'skipped'; detail: string };

const { URL: BASE, KEY, DEPLOYMENT, NAMESPACE = 'default', CONTEXT } = process.env;
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
const MAX_REASON = 300;
const MAX_TOKENS_OF_A_MODEL = 100_000_000;
const LEAVING_CLIENTS = 32;
/** Requests per minute that the checks need together. */
const MIN_RPM = 1_000;

if (!BASE || !KEY) {
  console.error(
    'usage: URL=https://…/v1 KEY=sk-… [DEPLOYMENT=name NAMESPACE=default CONTEXT=kubectl-context] node tools/gpu-check.ts',
  );
  process.exit(2);
}

interface Chat {
  choices: { finish_reason: string; message: { content: string | null; tool_calls?: object[] } }[];
  usage: { completion_tokens: number; prompt_tokens_details?: { cached_tokens?: number } | null };
}

const post = (path: string, body: object, signal?: AbortSignal): Promise<Response> =>
  fetch(`${BASE}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: signal ?? null,
  });

/** Throws with the reason of an answer that is a refusal, and what to do where it is the key's limits. */
async function requireOk(response: Response): Promise<Response> {
  if (response.ok) return response;
  const text = (await response.text()).slice(0, MAX_REASON);
  const isLimited = response.status === 429 && text.includes('requests per minute');
  throw new Error(`${response.status} ${text}${isLimited ? `; use a key with rpm ≥ ${MIN_RPM}` : ''}`);
}

async function chat(fields: object): Promise<Chat> {
  const response = await post('/chat/completions', {
    messages: [{ role: 'user', content: 'Say hello.' }],
    max_tokens: 64,
    ...fields,
  });
  return (await (await requireOk(response)).json()) as Chat;
}

/** Why the first of them failed; undefined: none did. */
const findReason = (results: readonly PromiseSettledResult<unknown>[]): string | undefined =>
  results.find((result) => result.status === 'rejected')?.reason.message;

async function kubectl(...args: string[]): Promise<string> {
  const context = CONTEXT ? ['--context', CONTEXT] : [];
  const { stdout } = await promisify(execFile)('kubectl', [...context, '--namespace', NAMESPACE, ...args]);
  return stdout;
}

const passed = (detail: string): Outcome => ({ verdict: 'passed', detail });
const failed = (detail: string): Outcome => ({ verdict: 'failed', detail });
const skipped = (detail: string): Outcome => ({ verdict: 'skipped', detail });
const judge = (isGood: boolean, detail: string): Outcome => (isGood ? passed(detail) : failed(detail));
const NO_CLUSTER = skipped('set DEPLOYMENT, and CONTEXT if it is not the current one');

async function findPods(): Promise<string[]> {
  const names = await kubectl('get', 'pods', '-l', `berth.dev/deployment=${DEPLOYMENT}`, '-o', 'name');
  return names.split('\n').filter(Boolean);
}

/** The preset's flags, with the parsers of the model's family, are those that the engine started with. */
async function checkStart(): Promise<Outcome> {
  if (!DEPLOYMENT) return NO_CLUSTER;
  const { status } = JSON.parse(await kubectl('get', 'modeldeployment', DEPLOYMENT, '-o', 'json'));
  return judge(status.phase === 'Ready', `${status.phase}, ${JSON.stringify(status.engine ?? {})}`);
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

/** A pod that is replaced completes its streams: `--shutdown-timeout`, with a GPU's own way of ending. */
async function checkDrain(): Promise<Outcome> {
  if (!DEPLOYMENT) return NO_CLUSTER;
  const [pod] = await findPods();
  if (!pod) return failed('it has no pod');
  const response = await post('/chat/completions', {
    messages: [{ role: 'user', content: 'Write a long story about a harbor.' }],
    max_tokens: 1_000,
    stream: true,
  });
  const whole = (await requireOk(response)).text();
  await sleep(500);
  await kubectl('delete', '--wait=false', pod);
  const text = await whole;
  return judge(
    /data: \[DONE\]\s*$/.test(text),
    `${text.split('data: ').length - 1} frames, the end ${text.slice(-120).trim()}`,
  );
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

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

const ms = (value: number): string => `${value.toFixed(0)} ms`;

const CHECKS: Record<string, () => Promise<Outcome>> = {
  'the engine started with the flags of its preset': checkStart,
  'tools are called without being asked for by name': checkTools,
  'cached tokens are reported': checkCachedTokens,
  'clients that leave free the engine': checkLeaving,
  'a request for more than the context is refused, and the engine serves on': checkTooLong,
  speed: measureSpeed,
  'a pod that is replaced completes its streams': checkDrain,
};

for (const [title, check] of Object.entries(CHECKS)) {
  const { verdict, detail } = await check().catch((error: Error) => failed(error.message));
  console.log(`${verdict.padEnd(8)} ${title}: ${detail}`);
  if (verdict === 'failed') process.exitCode = 1;
}
