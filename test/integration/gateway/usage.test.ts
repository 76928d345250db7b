import { expect } from 'chai';
import { hashApiKey } from '../../../api/identity.ts';
import { workKeys } from '../../../api/redis-keys.ts';
import { createLog } from '../../../gateway/telemetry/log.ts';
import { UsageMeter } from '../../../gateway/telemetry/usage.ts';
import { admit } from '../../../redis/admission/admission-calls.ts';
import { readKeyUse } from '../../../redis/usage/key-uses.ts';
import { readUsage, type UsageStep } from '../../../redis/usage/usage.ts';
import { pollUntil } from '../../support/poll.ts';
import { TestStack } from '../../support/test-stack.ts';
import { startScriptedEngine, startTextEndpoint, type TextEndpoint } from '../../support/text-endpoint.ts';

const MINUTE = 60_000;
const MICROS = 1_000_000;
/** 2 for a token of input, 3 for one of output. */
const PRICING = {
  perImage: null,
  perVideoSecond: null,
  perMillionInputTokens: 2 * MICROS * MICROS,
  perMillionOutputTokens: 3 * MICROS * MICROS,
};
const ANSWER = JSON.stringify({
  id: 'a',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hi' } }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
});

const QUESTION = { messages: [{ role: 'user', content: 'Hi' }] };
const { usage: _, ...untold } = JSON.parse(ANSWER);
const tell = (usage?: object) => JSON.stringify({ ...untold, usage });

describe('what a gateway served', () => {
  let stack: TestStack;
  let engine: Awaited<ReturnType<typeof startScriptedEngine>>;
  let endpoint: TextEndpoint;
  let meter: UsageMeter;
  let isBroken = false;
  let isCut = false;
  let answer = ANSWER;

  before(async () => {
    stack = await TestStack.start();
    engine = await startScriptedEngine((req, res) => {
      req.resume();
      req.on('end', () => {
        if (isCut) {
          res.writeHead(200, { 'content-type': 'text/event-stream' });
          res.write('data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n');
          setTimeout(() => res.destroy(), 50);
          return;
        }
        res.writeHead(isBroken ? 500 : 200, { 'content-type': 'application/json' });
        res.end(isBroken ? '{"error":{"message":"broken"}}' : answer);
      });
    });
    meter = new UsageMeter({ redis: stack.redis, log: createLog('silent') });
    endpoint = await startTextEndpoint({
      connection: stack.connection,
      engineURL: engine.url,
      settings: { pricing: PRICING },
      telemetry: { usage: meter.of('team', 'counted') },
    });
  });
  after(async () => {
    await endpoint?.stop();
    await meter?.close();
    await engine?.stop();
    await stack?.stop();
  });

  const ask = (key: string, body: object, more: Record<string, string> = {}) =>
    fetch(`${endpoint.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...more },
      body: JSON.stringify(body),
    });
  const chat = async (key: string, body: object = QUESTION) => {
    const response = await ask(key, body);
    await response.text();
    return response.status;
  };
  const readSum = async (): Promise<Pick<UsageStep, (typeof FIELDS)[number]>> => {
    const now = Date.now();
    const { steps } = await readUsage(stack.redis, {
      namespace: 'team',
      deployments: ['counted'],
      from: now - 10 * MINUTE,
      to: now + MINUTE,
      stepSeconds: 60,
    });
    return Object.fromEntries(
      FIELDS.map((field) => [field, steps.reduce((sum, step) => sum + step[field], 0)]),
    ) as never;
  };

  it('counts good, refused and failed requests of known keys, and none of strangers', async () => {
    const good = await endpoint.makeKey();
    const limited = await endpoint.makeKey({ rpm: 0 });
    const expired = await endpoint.makeKey({ exp: 1_600_000_000 });
    expect(await chat(good)).to.equal(200);
    expect(await chat(good)).to.equal(200);
    expect(await chat(good, { messages: 'no' })).to.equal(400);
    expect(await chat(limited)).to.equal(429);
    expect(await chat('sk-nobody')).to.equal(401);
    expect(await chat(expired)).to.equal(401);
    isBroken = true;
    expect(await chat(good)).to.be.within(500, 504);
    await written(5);
    expect(await readSum()).to.deep.equal({
      requests: 5,
      clientErrors: 1,
      rateLimited: 1,
      serverErrors: 1,
      inputTokens: 6,
      outputTokens: 4,
    });
  });

  it('estimates the tokens of an answer that tells no usage, and counts them against the day and the credit', async () => {
    const before = await readSum();
    isBroken = false;
    answer = tell();
    const key = await endpoint.makeKey();
    const response = await ask(key, QUESTION, { 'x-berth-receipt': 'true' });
    expect(await response.json()).not.to.have.property('usage');
    // The text of the answer is one token, the request's bytes four to a token.
    const inputTokens = Math.ceil(JSON.stringify(QUESTION).length / 4);
    expect(response.headers.get('x-berth-tokens')).to.equal(String(inputTokens + 1));
    expect(Number(response.headers.get('x-berth-cost'))).to.equal(2 * inputTokens + 3);
    await written(before.requests + 1);
    const after = await readSum();
    expect(after.inputTokens - before.inputTokens).to.equal(inputTokens);
    expect(after.outputTokens - before.outputTokens).to.equal(1);
    const { namespace } = endpoint.config;
    const request = { namespace, sha256: hashApiKey(key), counted: 'no' } as const;
    await pollUntil(async () => (await admit(stack.redis, request)).tpd.used === inputTokens + 1);
  });

  it('rounds up what an engine tells as a fraction, once', async () => {
    const before = await readSum();
    isBroken = false;
    answer = tell({ prompt_tokens: 10.5, completion_tokens: 1.2, total_tokens: 11.7 });
    const response = await ask(await endpoint.makeKey(), QUESTION, { 'x-berth-receipt': 'true' });
    expect(response.status).to.equal(200);
    expect(response.headers.get('x-berth-tokens')).to.equal('12');
    const told = (await response.json()) as { usage: object };
    expect(told.usage).to.deep.equal({ prompt_tokens: 11, completion_tokens: 2, total_tokens: 12 });
    expect(Number(response.headers.get('x-berth-cost'))).to.equal(2 * 11 + 3 * 2);
    await written(before.requests + 1);
    for (let interval = 0; interval < 3; interval++) {
      await meter.flush();
      expect(await readSum()).to.deep.equal({
        ...before,
        requests: before.requests + 1,
        inputTokens: before.inputTokens + 11,
        outputTokens: before.outputTokens + 2,
      });
    }
  });

  for (const [what, usage] of Object.entries({
    'more than 64 bits': { prompt_tokens: 1e25, completion_tokens: 2, total_tokens: 1e25 },
    'below zero': { prompt_tokens: 10, completion_tokens: -2, total_tokens: 8 },
    'a text': { prompt_tokens: '10', completion_tokens: 2 },
    'an object': { prompt_tokens: { text: 10 }, completion_tokens: 2 },
  }))
    it(`estimates the tokens where an engine tells ${what}, and loses none of other requests`, async () => {
      const before = await readSum();
      isBroken = false;
      const key = await endpoint.makeKey();
      const inputTokens = Math.ceil(JSON.stringify(QUESTION).length / 4);
      answer = tell(usage);
      const odd = await ask(key, QUESTION, { 'x-berth-receipt': 'true' });
      expect(odd.headers.get('x-berth-tokens')).to.equal(String(inputTokens + 1));
      answer = ANSWER;
      expect(await chat(key)).to.equal(200);
      await written(before.requests + 2);
      const after = await readSum();
      expect(after.inputTokens - before.inputTokens).to.equal(inputTokens + 3);
      expect(after.outputTokens - before.outputTokens).to.equal(1 + 2);
      const request = {
        namespace: endpoint.config.namespace,
        sha256: hashApiKey(key),
        counted: 'no',
      } as const;
      await pollUntil(async () => (await admit(stack.redis, request)).tpd.used === inputTokens + 1 + 5);
    });

  it('notes when a key was last used, and not for strangers', async () => {
    isBroken = false;
    const key = await endpoint.makeKey();
    const begin = Date.now();
    expect(await chat(key)).to.equal(200);
    expect(await chat('sk-nobody')).to.equal(401);
    const readUse = (of: string) => readKeyUse(stack.redis, 'team', hashApiKey(of));
    await pollUntil(async () => {
      await meter.flush();
      return (await readUse(key)) !== null;
    }, 'the use to be written');
    expect(await readUse(key)).to.be.within(begin, Date.now());
    expect(await readUse('sk-nobody')).to.equal(null);
    // What a workspace's own user may have written there.
    await stack.redis.set(workKeys('team').used(hashApiKey(key)), '8640000000000001');
    expect(await readUse(key)).to.equal(null);
  });

  it('counts a stream that breaks as an error', async () => {
    const before = await readSum();
    isCut = true;
    const stream = { ...QUESTION, stream: true };
    expect(await chat(await endpoint.makeKey(), stream)).to.equal(200);
    await written(before.requests + 1);
    expect((await readSum()).serverErrors).to.equal(before.serverErrors + 1);
  });

  const written = (requests: number) =>
    pollUntil(async () => {
      await meter.flush();
      return (await readSum()).requests >= requests;
    }, 'all that counts to be written');
});

const FIELDS = [
  'requests',
  'clientErrors',
  'rateLimited',
  'serverErrors',
  'inputTokens',
  'outputTokens',
] as const;
