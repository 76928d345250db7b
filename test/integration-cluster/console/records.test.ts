import { expect } from 'chai';
import { hashApiKey } from '../../../api/identity.ts';
import { configKeys, workKeys } from '../../../api/redis-keys.ts';
import { appendScaling } from '../../../redis/demand/scaling-history.ts';
import { listKeyUsage } from '../../../redis/usage/key-usage.ts';
import { addBatch } from '../../../redis/usage/usage-batch.ts';
import { pollUntil } from '../../support/poll.ts';
import { useConsole } from './console-harness.ts';
import { useEndpoint } from './endpoint-fixture.ts';

const id = (digit: string) => `req_${digit.repeat(32)}`;

describe("the console's records", () => {
  const console = useConsole();
  const fixture = useEndpoint(console);

  const write = async (request: string, deployment: string, fields: Record<string, string | number>) => {
    const { redis } = console.redis;
    const keys = workKeys(fixture.namespace);
    const record = { deployment, modality: 'image', registration_id: 1, model: 'm', ...fields };
    await redis.hset(keys.request(request), record);
    await redis.zadd(keys.deployments, 0, deployment);
    for (const index of ['all', String(fields.status)])
      await redis.zadd(keys.index(deployment, index), Number(fields.queued_at), request);
  };

  it('tells what each key used of each model on each day, as JSON and as CSV', async () => {
    const { redis } = console.redis;
    const { someone, base, namespace } = fixture;
    await redis.zadd(workKeys(namespace).deployments, 0, 'llm');
    const made = await someone.call('POST', `${base}/keys`, { name: 'billed' });
    const sha256 = hashApiKey(made.body.secret);
    const used = { requests: 2, inputTokens: 30, outputTokens: 20, micros: 110 };
    const at = Date.parse('2026-11-20T12:00:00Z');
    const add = (day: number, keyHash: string) => {
      const place = { namespace, deployment: 'llm', at: at + day * 86_400_000 };
      const hashes = [...listKeyUsage({ ...place, used: new Map([[keyHash, used]]) })];
      return addBatch(redis, { ...place, hashes });
    };
    await add(0, sha256.slice(0, 24));
    await add(1, sha256.slice(0, 24));
    await add(1, 'f'.repeat(24));
    const read = async (query: string) =>
      (await someone.call('GET', `${base}/usage/keys?from=2026-11-20&to=2026-11-21${query}`)).body;
    const row = {
      deployment: 'llm',
      key: 'billed',
      keyHash: sha256.slice(0, 24),
      requests: 2,
      inputTokens: 30,
      outputTokens: 20,
      cost: '0.00011',
      owner: null,
    };
    const rows = (await read('')) as (typeof row & { day: string; model: string | null })[];
    expect(rows.map(({ model: _, ...rest }) => rest)).to.have.deep.members([
      { ...row, day: '2026-11-20' },
      { ...row, day: '2026-11-21' },
      { ...row, day: '2026-11-21', key: null, keyHash: 'f'.repeat(24) },
    ]);
    const totals = await someone.call('GET', `${base}/usage/keys/totals?from=2026-11-20&to=2026-11-21`);
    const { deployment: _, ...sum } = row;
    expect(totals.body).to.have.deep.members([
      { ...sum, requests: 4, inputTokens: 60, outputTokens: 40, cost: '0.00022' },
      { ...sum, key: null, keyHash: 'f'.repeat(24) },
    ]);
    const response = await fetch(
      `${console.origin}${base}/usage/keys?from=2026-11-20&to=2026-11-20&format=csv`,
      {
        headers: { cookie: someone.cookie },
      },
    );
    expect(response.headers.get('content-type')).to.equal('text/csv; charset=utf-8');
    const [head, only, ...rest] = (await response.text()).split('\r\n');
    expect(head).to.equal(
      'day,deployment,model,key,key_hash,requests,input_tokens,output_tokens,cost,owner,' +
        'ResourceName,ChargePeriodStart,ChargePeriodEnd,BilledCost,BillingCurrency',
    );
    expect(only).to.match(
      /^2026-11-20,llm,[^,]*,billed,[0-9a-f]{24},2,30,20,0\.00011,,llm,2026-11-20T00:00:00Z,2026-11-21T00:00:00Z,0\.00011,$/,
    );
    expect(rest).to.deep.equal(['']);
    expect((await someone.call('GET', `${base}/usage/keys?from=yesterday`)).body.error.param).to.equal(
      'from',
    );
  });

  it('shows one with links that an endpoint of the workspace signs', async () => {
    await write(id('4'), 'gone', { status: 'succeeded', queued_at: 1_000, completed_at: 2_000 });
    const url = 'https://bucket.example/0.png?signature=x';
    fixture.answer = (_, response) => response.end(JSON.stringify({ output_urls: [url] }));
    const { body } = await fixture.someone.call('GET', `${fixture.base}/requests/gone/${id('4')}`);
    expect(fixture.seen[0]!.url).to.equal(`/v1/requests/${id('4')}`);
    expect([body.outputURLs, body.progress, body.completedAt]).to.deep.equal([
      [url],
      100,
      '1970-01-01T00:00:02.000Z',
    ]);
    fixture.answer = (_, response) => response.writeHead(404).end('{}');
    expect(
      (await fixture.someone.call('GET', `${fixture.base}/requests/gone/${id('4')}`)).body.outputURLs,
    ).to.deep.equal([]);
    expect((await fixture.someone.call('GET', `${fixture.base}/requests/llm/${id('4')}`)).status).to.equal(
      404,
    );
  });

  it('shows the ends of a key, and who made it', async () => {
    const { someone, base, namespace } = fixture;
    const made = await someone.call('POST', `${base}/keys`, { name: 'hinted' });
    expect(made.body.key.hint).to.equal(`sk-berth-…${made.body.secret.slice(-4)}`);
    expect(made.body.key.creator.kind).to.equal('user');
    const path = `/apis/berth.dev/v1alpha1/namespaces/${namespace}/apikeys`;
    const { body } = await console.kube('GET', `${path}/hinted`);
    expect(body.metadata.annotations['berth.dev/created-by']).to.equal(made.body.key.creator.name);
    expect(JSON.stringify(body)).not.to.include(made.body.secret);
  });

  it('shows who submitted one, and its price', async () => {
    const { someone, base } = fixture;
    const read = async (digit: string, fields: Record<string, string | number>) => {
      await write(id(digit), 'llm', { status: 'queued', queued_at: 1_000, ...fields });
      const { body } = await someone.call('GET', `${base}/requests/llm/${id(digit)}`);
      return [body.submitter, body.price, body.images];
    };
    const made = await someone.call('POST', `${base}/keys`, { name: 'submits' });
    const api_key = hashApiKey(made.body.secret).slice(0, 24);
    const hint = `sk-berth-…${made.body.secret.slice(-4)}`;
    const submits = { kind: 'key', name: 'submits', hint };
    expect(await read('a', { api_key, price: 40_000, images: 2, key_name: 'submits' })).to.deep.equal([
      submits,
      '0.04',
      2,
    ]);
    expect(await read('b', { api_key, price: 0 })).to.deep.equal([submits, '0', null]);
    const gone = { api_key: 'c'.repeat(24), price: 0 };
    expect(await read('c', { ...gone, key_name: 'revoked' })).to.deep.equal([
      { kind: 'key', name: 'revoked', hint: null },
      '0',
      null,
    ]);
    const anna = { kind: 'playground', name: 'anna' };
    expect(await read('d', { ...gone, key_name: 'console:anna' })).to.deep.equal([anna, '0', null]);
    expect(await read('e', gone)).to.deep.equal([null, '0', null]);
    expect(await read('f', {})).to.deep.equal([null, null, null]);
  });

  it('reads no more of an endpoint than a record may have', async () => {
    await write(id('6'), 'llm', { status: 'succeeded', queued_at: 1_000, completed_at: 2_000 });
    const closed = new Promise<void>((resolve) => {
      fixture.answer = (_, response) => {
        const send = () => {
          while (!response.destroyed && response.write(Buffer.alloc(64 * 1024, ' ')));
        };
        response.on('drain', send).on('close', resolve);
        send();
      };
    });
    const { status, body } = await fixture.someone.call('GET', `${fixture.base}/requests/llm/${id('6')}`);
    expect([status, body.outputURLs]).to.deep.equal([200, []]);
    await closed;
  });

  it('tells how often one was asked for again by its idempotency key, and what differed', async () => {
    const read = async (request: string, fields: Record<string, string>) => {
      await write(id(request), 'llm', { status: 'queued', queued_at: 1_000, ...fields });
      return (await fixture.someone.call('GET', `${fixture.base}/requests/llm/${id(request)}`)).body.replays;
    };
    expect(await read('9', {})).to.equal(null);
    const fields = { replays: '3', replayed_at: '1000', replay_differs: 'prompt,image[2]' };
    expect(await read('9', fields)).to.deep.equal({
      count: 3,
      lastAt: '1970-01-01T00:00:01.000Z',
      differing: ['prompt', 'image[2]'],
    });
    // As a workspace's own Redis user may write them.
    for (const forged of [{ replays: 'many' }, { replayed_at: '9e15' }, { replays: '-1' }])
      expect(await read('9', { ...fields, ...forged })).to.equal(null);
    const names = await read('9', { ...fields, replay_differs: `<b>,${'x'.repeat(5_000)},seed` });
    expect(names).to.deep.include({ differing: [] });
  });

  it('shows the input of one, and submits it once more, through the endpoint', async () => {
    await write(id('7'), 'llm', { status: 'failed', queued_at: 1_000, retried_as: id('8') });
    const path = `${fixture.base}/requests/llm/${id('7')}`;
    const { someone } = fixture;
    expect((await someone.call('GET', path)).body).to.include({ retryOf: null, retriedAs: id('8') });
    const input = { parameters: { prompt: 'a cat' }, files: [] };
    fixture.answer = (_, response) => response.end(JSON.stringify(input));
    expect((await someone.call('GET', `${path}/input`)).body).to.deep.equal(input);
    fixture.answer = (_, response) => response.writeHead(202).end(JSON.stringify({ id: id('8') }));
    const again = await someone.call('POST', `${path}/retry`);
    expect([again.status, again.body]).to.deep.equal([202, { id: id('8') }]);
    expect(fixture.seen.slice(-2).map(({ method, url }) => `${method} ${url}`)).to.deep.equal([
      `GET /v1/requests/${id('7')}/input`,
      `POST /v1/requests/${id('7')}/retry`,
    ]);
    fixture.answer = (_, response) => response.writeHead(409).end('{"error":{"message":"not kept"}}');
    const late = await someone.call('POST', `${path}/retry`);
    expect([late.status, late.body.error.message]).to.deep.equal([409, 'not kept']);
  });

  it('cancels through the endpoint and passes on its refusal', async () => {
    await write(id('5'), 'llm', { status: 'queued', queued_at: 1_000 });
    fixture.answer = async (_, response) => {
      await console.redis.redis.hset(workKeys(fixture.namespace).request(id('5')), 'status', 'canceled');
      response.end('{}');
    };
    const path = `${fixture.base}/requests/llm/${id('5')}/cancel`;
    const done = await fixture.someone.call('POST', path);
    expect([done.status, done.body.status, fixture.seen[0]!.url]).to.deep.equal([
      200,
      'canceled',
      `/v1/requests/${id('5')}/cancel`,
    ]);
    fixture.answer = (_, response) => response.writeHead(409).end('{"error":{"message":"it runs"}}');
    const late = await fixture.someone.call('POST', path);
    expect([late.status, late.body.error.message]).to.deep.equal([409, 'it runs']);
  });

  it('shows what keys used and what is left to spend', async () => {
    const { redis } = console.redis;
    await fixture.someone.call('POST', `${fixture.base}/keys`, { name: 'used', rpm: 5 });
    const { spec } = (
      await console.kube('GET', `/apis/berth.dev/v1alpha1/namespaces/${fixture.namespace}/apikeys/used`)
    ).body;
    const keys = workKeys(fixture.namespace);
    await redis.set(keys.rpm(spec.sha256), 3);
    await redis.set(keys.tpd(spec.sha256, Math.floor(Date.now() / 86_400_000)), 1234);
    await redis.set(keys.used(spec.sha256), Date.parse('2026-11-20T12:00:00Z'));
    await redis.hset(configKeys(fixture.namespace).workspace, 'creditMicros', 5_000_000);
    await redis.set(keys.credit, 1_250_000);
    const [key] = (await fixture.someone.call('GET', `${fixture.base}/keys`)).body;
    expect(key.usage).to.deep.equal({
      requestsThisMinute: 3,
      tokensToday: 1234,
      lastUsedAt: '2026-11-20T12:00:00.000Z',
    });
    for (const range of ['1h', '6h', '24h', '7d', '30d']) {
      const asked = Date.now();
      const { status, body } = await fixture.someone.call('GET', `${fixture.base}/usage?range=${range}`);
      expect(status).to.equal(200);
      expect(body.credit).to.deep.equal({ granted: '5', remaining: '3.75', currency: null });
      const [first, last] = [body.points[0], body.points.at(-1)];
      expect(body.points.length, range).to.be.within(60, 170);
      expect(Date.parse(last.at)).to.be.within(asked - body.stepSeconds * 1_000, Date.now());
      expect(Date.parse(last.at) - Date.parse(first.at)).to.equal(
        (body.points.length - 1) * body.stepSeconds * 1_000,
      );
    }
    expect((await fixture.someone.call('GET', `${fixture.base}/usage?range=2h`)).body.error.param).to.equal(
      'range',
    );
  });

  it('shows how a deployment was scaled, up to now', async () => {
    const { namespace } = fixture;
    const minutesAgo = (minutes: number) => Date.now() - minutes * 60_000;
    const point = { demand: 0, wanted: 0, ready: 0 };
    const change = { from: 0, reason: 'a request waits for the first replica' };
    await appendScaling(
      console.redis.redis,
      [
        { ...point, at: minutesAgo(120), demand: 9 },
        { ...point, at: minutesAgo(-0.01), wanted: 1, change },
      ].map((each) => ({ namespace, name: 'llm', point: each })),
    );
    const read = async (query: string) =>
      (await fixture.someone.call('GET', `${fixture.base}/deployments/llm/scaling${query}`)).body;
    await pollUntil(async () => (await read('')).points.length === 2);
    const { from, to, points, changes } = await read('?range=6h');
    expect(Date.parse(to) - Date.parse(from)).to.equal(6 * 3_600_000);
    // Records from before this deployment belong to an earlier one of the same name.
    expect(points.map((each: { wanted: number }) => each.wanted)).to.deep.equal([1, 1]);
    expect(points.at(-1).at).to.equal(to);
    expect(changes).to.have.length(1);
    expect(changes[0]).to.include({ ...change, to: 1 });
    expect((await read('?range=2h')).error.param).to.equal('range');
    const missing = await fixture.someone.call('GET', `${fixture.base}/deployments/nobody/scaling`);
    expect(missing.status).to.equal(404);
  });
});
