import { expect } from 'chai';
import { createLog } from '../../../gateway/telemetry/log.ts';
import { UsageMeter } from '../../../gateway/telemetry/usage.ts';
import { readUsage, type UsageStep } from '../../../redis/usage/usage.ts';
import { pollUntil } from '../../support/poll.ts';
import { TestStack } from '../../support/test-stack.ts';
import { startScriptedEngine, startTextEndpoint, type TextEndpoint } from '../../support/text-endpoint.ts';

const MINUTE = 60_000;
const ANSWER = JSON.stringify({
  id: 'a',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hi' } }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
});

describe('what a gateway served', () => {
  let stack: TestStack;
  let engine: Awaited<ReturnType<typeof startScriptedEngine>>;
  let endpoint: TextEndpoint;
  let meter: UsageMeter;
  let isBroken = false;
  let isCut = false;

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
        res.end(isBroken ? '{"error":{"message":"broken"}}' : ANSWER);
      });
    });
    meter = new UsageMeter({ redis: stack.redis, log: createLog('silent') });
    endpoint = await startTextEndpoint({
      connection: stack.connection,
      engineURL: engine.url,
      usage: meter.of('team', 'counted'),
    });
  });
  after(async () => {
    await endpoint?.stop();
    await meter?.close();
    await engine?.stop();
    await stack?.stop();
  });

  const chat = async (key: string, body: object = { messages: [{ role: 'user', content: 'Hi' }] }) => {
    const response = await fetch(`${endpoint.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
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

  it('counts a stream that breaks as an error', async () => {
    const before = await readSum();
    isCut = true;
    const stream = { messages: [{ role: 'user', content: 'Hi' }], stream: true };
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
