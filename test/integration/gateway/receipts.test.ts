import { expect } from 'chai';
import { workKeys } from '../../../api/redis-keys.ts';
import { createLog } from '../../../gateway/telemetry/log.ts';
import { DeploymentUsage, UsageMeter } from '../../../gateway/telemetry/usage.ts';
import { type KeyUsageRow, readKeyUsageRows } from '../../../redis/usage/key-usage.ts';
import { pollUntil } from '../../support/poll.ts';
import { startTextFixture, type TextFixture } from '../../support/text-fixture.ts';

const PRICING = {
  perImage: null,
  perVideoSecond: null,
  perMillionInputTokens: 1_234_567,
  perMillionOutputTokens: 7_654_321,
};
const MICROS = 1_000_000;

describe('receipts', () => {
  let fixture: TextFixture;
  let meter: UsageMeter;
  const served = new DeploymentUsage();
  before(async () => {
    fixture = await startTextFixture({
      settings: { pricing: PRICING, namespace: 'payers', name: 'chat' },
      telemetry: { usage: served },
    });
    meter = new UsageMeter({ redis: fixture.connection.redis, log: createLog('silent') });
  });
  after(async () => {
    await meter?.close();
    await fixture?.stop();
  });

  const ask = (path: string, body: object, more: Record<string, string> = { 'x-berth-receipt': 'true' }) =>
    fetch(`${fixture.endpoint.origin}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${fixture.key}`, 'content-type': 'application/json', ...more },
      body: JSON.stringify(body),
    });
  const CHAT = { messages: [{ role: 'user', content: 'Hello there' }] };
  const ROUTES: [path: string, body: object][] = [
    ['/v1/chat/completions', CHAT],
    ['/v1/completions', { prompt: 'Hello' }],
    ['/v1/responses', { input: 'Hello', store: false }],
    ['/v1/messages', { ...CHAT, max_tokens: 20 }],
  ];

  it('are sent to those who ask for them, in headers or before the last event of a stream, and add up to the account', async () => {
    let cost = 0;
    let tokens = 0;
    for (const [path, body] of ROUTES) {
      const whole = await ask(path, body);
      await whole.text();
      expect(whole.status, path).to.equal(200);
      cost += Number(whole.headers.get('x-berth-cost'));
      tokens += Number(whole.headers.get('x-berth-tokens'));
      expect(Number(whole.headers.get('x-berth-cost')), path).to.be.above(0);

      const stream = await ask(path, { ...body, stream: true });
      const text = await stream.text();
      expect(stream.headers.get('x-berth-cost'), path).to.equal(null);
      // Before the last event, and once: many clients read no further.
      const [, receipt] = /\n\n: receipt (\{.*\})\n\n(?:event: .*\n)?data: .*\n\n$/.exec(text) ?? [];
      expect(receipt, path + text.slice(-300)).to.be.a('string');
      expect(text.split(': receipt ')).to.have.length(2);
      cost += Number(JSON.parse(receipt!).cost);
      tokens += JSON.parse(receipt!).tokens;
    }
    const { redis } = fixture.connection;
    const spent = () => redis.get(workKeys('payers').credit);
    await pollUntil(
      async () => Math.round(cost * MICROS) === Number(await spent()),
      'the account to have all',
    );
    const [tpd] = await redis.keys(`${workKeys('payers').prefix}tpd:*`);
    expect(Number(await redis.get(tpd!))).to.equal(tokens);
    const [ofKey] = served.keys.values();
    expect(ofKey).to.include({ requests: 2 * ROUTES.length, micros: Math.round(cost * MICROS) });
    expect(ofKey!.inputTokens + ofKey!.outputTokens).to.equal(tokens);
  });

  it('count in the budget of the key, for the very next call', async () => {
    const key = await fixture.endpoint.makeKey({ bud: '1,Month,50' });
    await (await fixture.chat({ max_tokens: 5 }, { key })).text();
    const refused = await fixture.chat({ max_tokens: 5 }, { key });
    expect(refused.status).to.equal(503);
    expect(await refused.text()).to.match(/The budget of this API key is used up: 0.000001 per month/);
  });

  it('charge many requests that cost less than a millionth each for what they cost together', async () => {
    const { pricing } = fixture.endpoint.config;
    // A hundredth of a millionth for each token.
    Object.assign(pricing, { perMillionInputTokens: 10_000, perMillionOutputTokens: 10_000 });
    const charged: number[] = [];
    let tokens = 0;
    while (tokens < 250) {
      const answer = await ask('/v1/chat/completions', { ...CHAT, max_tokens: 5 });
      await answer.text();
      charged.push(Math.round(Number(answer.headers.get('x-berth-cost')) * MICROS));
      tokens += Number(answer.headers.get('x-berth-tokens'));
    }
    Object.assign(pricing, PRICING);
    // With less than a millionth that is left of earlier requests.
    const sum = charged.reduce((total, micros) => total + micros, 0);
    expect(sum - Math.floor(tokens / 100)).to.be.oneOf([0, 1]);
    expect(Math.min(...charged)).to.equal(0);
  });

  it('are not sent to anybody else', async () => {
    const whole = await ask('/v1/chat/completions', CHAT, {});
    expect([...whole.headers.keys()].filter((name) => name.startsWith('x-berth-'))).to.deep.equal([]);
    const stream = await ask('/v1/chat/completions', { ...CHAT, stream: true }, {});
    expect(await stream.text()).to.not.contain('receipt');
    const failed = await ask('/v1/chat/completions', { messages: 'wrong' });
    expect(failed.headers.get('x-berth-cost')).to.equal(null);
  });

  it('are kept by key, deployment and day', async () => {
    const usage = meter.of('payers', 'chat');
    const used = { requests: 1, inputTokens: 3, outputTokens: 2, micros: 7 };
    usage.addOfKey('a'.repeat(64), used);
    usage.addOfKey('a'.repeat(64), used);
    usage.addOfKey('b'.repeat(64), { ...used, micros: 0 });
    await meter.flush();
    const now = Date.now();
    const question = { namespace: 'payers', deployments: ['chat'], from: now, to: now };
    const rows: KeyUsageRow[] = [];
    for await (const part of readKeyUsageRows(fixture.connection.redis, question)) rows.push(...part);
    const base = { day: new Date(now).toISOString().slice(0, 10), deployment: 'chat' };
    expect(rows).to.have.deep.members([
      { ...base, keyHash: 'a'.repeat(24), requests: 2, inputTokens: 6, outputTokens: 4, micros: 14 },
      { ...base, keyHash: 'b'.repeat(24), ...used, micros: 0 },
    ]);
  });
});
