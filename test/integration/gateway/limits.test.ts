import { expect } from 'chai';
import { hashApiKey } from '../../../api/identity.ts';
import { ALL_ROUTES } from '../../../gateway/http/routes.ts';
import type { StorageServices } from '../../../gateway/jobs/services.ts';
import { publishWorkspace } from '../../../redis/publication/publication.ts';
import { submitRequest } from '../../../redis/requests/request-calls.ts';
import { readRequest } from '../../../redis/requests/request-record.ts';
import { pollUntil } from '../../support/poll.ts';
import { publishApiKey } from '../../support/publication.ts';
import { PREFIX, publishMedia, submissionOf } from '../../support/request-fixture.ts';
import { readEnvelope, startTextFixture, type TextFixture } from '../../support/text-fixture.ts';

const PAST = 1_600_000_000;

describe('the limits of a key', () => {
  let fixture: TextFixture;
  before(async () => {
    fixture = await startTextFixture();
  });
  after(() => fixture?.stop());

  it('let 60 requests a minute through and answer 429 to the 61st', async () => {
    const key = await fixture.endpoint.makeKey({ rpm: 60 });
    const now = Math.floor(Date.now() / 1000);
    for (let index = 0; index < 60; index++) {
      const response = await fixture.chat({ max_tokens: 1 }, { key });
      expect(response.status).to.equal(200);
      expect(response.headers.get('x-ratelimit-remaining')).to.equal(String(59 - index));
      expect(Number(response.headers.get('x-ratelimit-reset'))).to.be.within(now + 1, now + 62);
      await response.text();
    }
    const { status, code, headers } = await readEnvelope(await fixture.chat({}, { key }));
    expect([status, code]).to.deep.equal([429, 'rate_limit_exceeded']);
    expect(headers.get('x-ratelimit-remaining')).to.equal('0');
    expect(Number(headers.get('x-ratelimit-reset'))).to.be.greaterThan(now);
    expect(headers.get('retry-after')).to.match(/^([1-9]|[1-5]\d|60)$/);
    expect(headers.get('x-should-retry')).to.equal(null);
    expect(
      (await fetch(`${fixture.endpoint.origin}/v1/models`, { headers: { authorization: `Bearer ${key}` } }))
        .status,
    ).to.equal(200);
  });

  it('end a day’s tokens with a 429 that is not to be retried', async () => {
    const key = await fixture.endpoint.makeKey({ tpd: 5 });
    await (await fixture.chat({ max_tokens: 5 }, { key })).text();
    await pollUntil(async () => {
      const response = await fixture.chat({ max_tokens: 5 }, { key });
      await response.text();
      return response.status === 429;
    }, 'the tokens to count');
    const { code, headers } = await readEnvelope(await fixture.chat({}, { key }));
    expect(code).to.equal('rate_limit_exceeded');
    const wait = Number(headers.get('retry-after'));
    expect(headers.get('x-should-retry')).to.equal(wait > 60 ? 'false' : null);
  });

  it('end a day’s tokens for the very next call, though they are not settled yet', async () => {
    for (let round = 0; round < 5; round++) {
      const key = await fixture.endpoint.makeKey({ tpd: 5, rpm: 10 });
      await (await fixture.chat({ max_tokens: 5 }, { key })).text();
      const { status, code, headers } = await readEnvelope(await fixture.chat({}, { key }));
      expect([status, code]).to.deep.equal([429, 'rate_limit_exceeded']);
      expect(Number(headers.get('retry-after'))).to.be.within(1, 86_400);
    }
  });

  it('count what is settled once: a day’s tokens last as long as they are', async () => {
    const key = await fixture.endpoint.makeKey({ tpd: 1_000 });
    const chat = async () => {
      const response = await fixture.chat({ max_tokens: 5 }, { key });
      const { usage } = (await response.json()) as { usage: { total_tokens: number } };
      return { status: response.status, tokens: usage?.total_tokens };
    };
    const { tokens } = await chat();
    const exact = await fixture.endpoint.makeKey({ tpd: 20 * tokens! });
    for (let index = 0; index < 20; index++) {
      const response = await fixture.chat({ max_tokens: 5 }, { key: exact });
      expect(response.status, `call ${index}`).to.equal(200);
      await response.text();
    }
    expect((await fixture.chat({ max_tokens: 5 }, { key: exact })).status).to.equal(429);
  });

  it('do not count engine failures; every counted response shows what is left', async () => {
    const key = await fixture.endpoint.makeKey({ rpm: 2 });
    await fixture.simulator.putControl({ fault: { kind: 'status', status: 500 }, faultTimes: -1 });
    for (let index = 0; index < 4; index++) {
      const { status, headers } = await readEnvelope(await fixture.chat({}, { key }));
      expect([status, headers.get('x-ratelimit-remaining')]).to.deep.equal([502, null]);
    }
    await fixture.simulator.reset();
    const bad = await readEnvelope(await fixture.chat({ max_tokens: 'many' }, { key }));
    expect([bad.status, bad.headers.get('x-ratelimit-remaining')]).to.deep.equal([400, '1']);
    expect(bad.headers.get('x-ratelimit-reset')).to.match(/^\d+$/);
    const good = await fixture.chat({ max_tokens: 1 }, { key });
    expect([good.status, good.headers.get('x-ratelimit-remaining')]).to.deep.equal([200, '0']);
    await good.text();
    expect((await fixture.chat({}, { key })).status).to.equal(429);
  });

  it('count no request that is refused for its kind', async () => {
    const key = await fixture.endpoint.makeKey({ rpm: 1 });
    for (let index = 0; index < 3; index++)
      expect((await fixture.post('/v1/embeddings', { input: 'x' }, { key })).status).to.equal(400);
    expect((await fixture.chat({ max_tokens: 1 }, { key })).status).to.equal(200);
  });

  const keys: [string, object, RegExp][] = [
    ['an expired key', { exp: PAST }, /expired/],
    ['a disabled key', { off: 1 }, /disabled/],
  ];
  for (const [what, fields, message] of keys)
    it(`answer 401 to ${what}`, async () => {
      const error = await readEnvelope(
        await fixture.chat({}, { key: await fixture.endpoint.makeKey(fields) }),
      );
      expect([error.status, error.code]).to.deep.equal([401, 'invalid_api_key']);
      expect(error.message).to.match(message);
    });

  it('answer 403 to a deployment that the key may not call, and name those that it may', async () => {
    const key = await fixture.endpoint.makeKey({ dep: 'film,embed' });
    const headers = { authorization: `Bearer ${key}` };
    const error = await readEnvelope(await fixture.chat({}, { key }));
    expect([error.status, error.code]).to.deep.equal([403, 'permission_denied']);
    expect(error.message).to.match(/may call: film, embed\.$/);
    expect((await fetch(`${fixture.endpoint.origin}/v1/models`, { headers })).status).to.equal(403);
    const { name } = fixture.endpoint.config;
    const own = await fixture.endpoint.makeKey({ dep: `film,${name}` });
    expect((await fixture.chat({ max_tokens: 1 }, { key: own })).status).to.equal(200);
  });

  it('answer 503 insufficient_quota when the budget of the key is used up, and say when the next period begins', async () => {
    const key = await fixture.endpoint.makeKey({ bud: '0,Day' });
    const error = await readEnvelope(await fixture.chat({}, { key }));
    expect([error.status, error.code]).to.deep.equal([503, 'insufficient_quota']);
    expect(error.message).to.match(
      /^The budget of this API key is used up: 0 per day. The next period begins at \d{4}-.*T00:00:00Z\.$/,
    );
    expect(error.headers.get('x-should-retry')).to.equal('false');
    expect(
      (await fetch(`${fixture.endpoint.origin}/v1/models`, { headers: { authorization: `Bearer ${key}` } }))
        .status,
    ).to.equal(200);
  });

  it('answer 503 insufficient_quota when the credit is used up', async () => {
    const { redis } = fixture.connection;
    const { namespace } = fixture.endpoint.config;
    await publishWorkspace(redis, namespace, { creditMicros: 0 });
    const error = await readEnvelope(await fixture.chat());
    await publishWorkspace(redis, namespace, { creditMicros: null });
    expect([error.status, error.code]).to.deep.equal([503, 'insufficient_quota']);
    expect(error.headers.get('x-should-retry')).to.equal('false');
  });
});

describe('a key that may not call the deployment of a request gets 403, and leaves it as it is:', () => {
  let fixture: TextFixture;
  let id: string;
  before(async () => {
    const storage = { promptKey: () => null, requestPrefix: () => PREFIX } as Partial<StorageServices>;
    fixture = await startTextFixture({ storage: storage as StorageServices });
    const { redis } = fixture.connection;
    const { namespace } = fixture.endpoint.config;
    await publishMedia(redis, { namespace, name: 'film' });
    const accepted = await submitRequest(redis, submissionOf({ namespace, deployment: 'film' }));
    if (accepted.verdict !== 'accepted') throw new Error(accepted.verdict);
    ({ id } = accepted);
  });
  after(() => fixture?.stop());

  // Batches and files have their own tests; no engine remixes; the console alone reads inputs and retries.
  const others = /^\/v1\/(files|batches|videos\/\{id\}\/remix)|\/(input|retry)$/;
  for (const { method, path } of ALL_ROUTES.filter((each) => each.path.includes('{id}')))
    if (!others.test(path))
      it(`${method} ${path}`, async () => {
        const { config, origin, makeKey } = fixture.endpoint;
        const headers = { authorization: `Bearer ${await makeKey({ dep: config.name })}` };
        const response = await fetch(origin + path.replace('{id}', id), { method, headers });
        const error = await readEnvelope(response);
        expect([error.status, error.code]).to.deep.equal([403, 'permission_denied']);
        expect(error.message).to.equal(
          `This API key may not call the deployment film. It may call: ${config.name}.`,
        );
        const record = await readRequest(fixture.connection.redis, config.namespace, id);
        expect(record?.status).to.equal('queued');
      });
});

describe('a deployment that does not serve', () => {
  for (const state of ['paused', 'deleting'] as const)
    it(`answers 503 no_pod_available while ${state}, and counts nothing`, async () => {
      const fixture = await startTextFixture({ settings: { [state]: true } });
      const key = await fixture.endpoint.makeKey({ rpm: 1 });
      for (let index = 0; index < 2; index++) {
        const error = await readEnvelope(await fixture.chat({}, { key }));
        expect([error.status, error.code]).to.deep.equal([503, 'no_pod_available']);
        expect(error.headers.get('retry-after')).to.equal(null);
        expect(error.headers.get('x-should-retry')).to.equal('false');
      }
      await fixture.stop();
    });
});

describe('while Redis is away', () => {
  let fixture: TextFixture;
  let now: number;
  before(async () => {
    // Not when the file is read: other tests may run for minutes before this one.
    now = Date.now();
    fixture = await startTextFixture({ clocks: { now: () => now } });
  });
  after(() => fixture?.stop());

  it('known keys are served without limits, others wait, and all comes back', async () => {
    const { endpoint, redis, connection } = fixture;
    const soon = Math.floor(now / 1000) + 100;
    const [limited, expiring, poor, unseen] = await Promise.all([
      endpoint.makeKey({ rpm: 1 }),
      endpoint.makeKey({ exp: soon }),
      endpoint.makeKey(),
      endpoint.makeKey(),
    ]);
    for (const key of [limited, expiring])
      expect((await fixture.chat({ max_tokens: 1 }, { key })).status).to.equal(200);
    await publishWorkspace(connection.redis, endpoint.config.namespace, { creditMicros: 0 });
    expect((await fixture.chat({}, { key: poor })).status).to.equal(503);
    await publishWorkspace(connection.redis, endpoint.config.namespace, { creditMicros: null });

    await redis.kill();
    const served = await fixture.chat({ max_tokens: 1 }, { key: limited });
    expect(served.status).to.equal(200);
    expect(served.headers.get('x-ratelimit-remaining')).to.equal(null);
    expect((await fixture.chat({ max_tokens: 1 }, { key: expiring })).status).to.equal(200);
    expect((await readEnvelope(await fixture.chat({}, { key: poor }))).code).to.equal('insufficient_quota');
    const refused = await readEnvelope(await fixture.chat({}, { key: unseen }));
    expect([refused.status, refused.code]).to.deep.equal([503, 'temporarily_unavailable']);
    expect(refused.headers.get('retry-after')).to.equal('2');
    expect(await endpoint.metrics.render()).to.contain('berth_gateway_redis_away 1');

    now += 200_000;
    expect((await readEnvelope(await fixture.chat({}, { key: expiring }))).code).to.equal('invalid_api_key');
    now += 200_000;
    expect((await readEnvelope(await fixture.chat({}, { key: limited }))).code).to.equal(
      'temporarily_unavailable',
    );

    await redis.restart();
    await connection.untilUp(60_000);
    await connection.redis.flushall();
    const { loadLibrary } = await import('../../../redis/library.ts');
    await loadLibrary(connection.redis);
    const published = { n: 'again', rpm: 1, tpd: 1000, exp: 0, off: 0 as const };
    await publishApiKey(connection.redis, endpoint.config.namespace, hashApiKey(limited), published);
    const back = await fixture.chat({ max_tokens: 1 }, { key: limited });
    expect(back.status).to.equal(200);
    expect(back.headers.get('x-ratelimit-remaining')).to.equal('0');
    expect(await endpoint.metrics.render()).to.contain('berth_gateway_redis_away 0');
  });

  it('a Redis that hangs costs a request no more than the time-out', async () => {
    const { redis } = fixture;
    const key = await fixture.endpoint.makeKey();
    await (await fixture.chat({ max_tokens: 1 }, { key })).text();
    redis.pause();
    const start = performance.now();
    const response = await fixture.chat({ max_tokens: 1 }, { key });
    const milliseconds = performance.now() - start;
    redis.resume();
    expect(response.status).to.equal(200);
    // Without a timeout, it would take as long as the client waits.
    expect(milliseconds).to.be.below(20_000);
  });

  it('usage is kept and settled when Redis is back', async () => {
    const { redis, connection, endpoint } = fixture;
    await connection.untilUp(60_000);
    const key = await endpoint.makeKey();
    await (await fixture.chat({ max_tokens: 1 }, { key })).text();
    redis.pause();
    const answer = (await (await fixture.chat({ max_tokens: 9 }, { key })).json()) as {
      usage: { total_tokens: number };
    };
    redis.resume();
    await connection.untilUp(60_000);
    const day = Math.floor(Date.now() / 86_400_000);
    const counter = `w:{${endpoint.config.namespace}}:tpd:${hashApiKey(key).slice(0, 24)}:${day}`;
    await pollUntil(
      async () => Number(await connection.redis.get(counter).catch(() => 0)) >= answer.usage.total_tokens + 2,
      'both settlements',
    );
  });
});
