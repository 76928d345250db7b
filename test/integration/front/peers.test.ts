import { expect } from 'chai';
import { hashApiKey } from '../../../api/identity.ts';
import { workKeys } from '../../../api/redis-keys.ts';
import { callChat, readError, streamChat } from '../../support/chat.ts';
import { API_KEY, describeModel, PEER_TOKEN } from '../../support/model-replica.ts';
import { pollUntil } from '../../support/poll.ts';
import { useReplicas } from '../../support/replica-stack.ts';

const ADDRESSES = ['127.0.0.2', '127.0.0.3', '127.0.0.4'];
const SLOW = { ttftMs: 100, itlMs: 30, tokens: 120 };

describe('replicas of one deployment', () => {
  const config = describeModel({ concurrency: 1 });
  const { namespace } = config;
  const stack = useReplicas(config, ADDRESSES);
  const { engines, replicas, countRequests } = stack;

  beforeEach(async () => {
    await stack.control({ ttftMs: 0, itlMs: 0, tokens: 20, fault: null });
    await pollUntil(async () => {
      const beats = await stack.readHeartbeats();
      return beats.length === 3 && beats.every(({ ready, inflight }) => ready && inflight === 0);
    }, 'all replicas to be ready and idle');
  });
  const readInflight = async () => {
    const beats = await stack.readHeartbeats();
    return Object.fromEntries(beats.map(({ pod, inflight }) => [pod, inflight]));
  };
  const readTokens = async () => {
    const key = workKeys(namespace).tpd(hashApiKey(API_KEY), Math.floor(Date.now() / 86_400_000));
    return Number((await stack.redis.get(key)) ?? 0);
  };

  it('hand a request to a peer when full; its usage is counted once and every slot comes back', async () => {
    const [first] = replicas;
    await engines[0]!.control(SLOW);
    const before = await countRequests();
    const tokensBefore = await readTokens();
    const held = await streamChat(first!.url);
    await pollUntil(() => held.frames() > 2, 'the stream to run');

    const forwarded = await callChat(first!.url);
    expect(forwarded.status).to.equal(200);
    const { usage, model } = (await forwarded.json()) as { usage: { total_tokens: number }; model: string };
    expect(model).to.equal('berth/chat');
    const now = await countRequests();
    expect(now[0]! - before[0]!).to.equal(1);
    expect(now[1]! + now[2]! - before[1]! - before[2]!).to.equal(1);

    const { isWhole } = await held.ended;
    expect(isWhole).to.equal(true);
    const heldTokens = (await engines[0]!.read()).last ? SLOW.tokens : 0;
    await pollUntil(
      async () => (await readTokens()) >= tokensBefore + usage.total_tokens + heldTokens,
      'the settlement',
    );
    await pollUntil(
      async () => Object.values(await readInflight()).every((count) => count === 0),
      'free slots',
    );
  });

  it('stream through a peer token by token', async () => {
    await Promise.all(engines.map((engine) => engine.control(SLOW)));
    const held = await streamChat(replicas[0]!.url);
    await pollUntil(() => held.frames() > 0, 'the first stream');
    const forwarded = await streamChat(replicas[0]!.url);
    await pollUntil(() => forwarded.frames() > 2, 'frames of the forwarded stream');
    expect(forwarded.frames()).to.be.lessThan(100);
    expect((await forwarded.ended).isWhole).to.equal(true);
    expect((await held.ended).isWhole).to.equal(true);
  });

  it('answer 429 replica_saturated with Retry-After 5 only when all are full', async () => {
    await Promise.all(engines.map((engine) => engine.control({ ...SLOW, tokens: 200 })));
    const held = [];
    for (let index = 0; index < 3; index++) {
      const stream = await streamChat(replicas[0]!.url);
      expect(stream.status).to.equal(200);
      held.push(stream);
    }
    const refused = await readError(await callChat(replicas[0]!.url));
    expect(refused).to.include({ status: 429, code: 'replica_saturated', retryAfter: '5' });
    for (const { ended } of held) expect((await ended).isWhole).to.equal(true);
  });

  it('free the peer’s engine and slot when the client leaves', async () => {
    await Promise.all(engines.map((engine) => engine.control({ ttftMs: 5_000, itlMs: 30, tokens: 60 })));
    const clients = [new AbortController(), new AbortController()];
    const calls = clients.map(({ signal }) => callChat(replicas[0]!.url, { signal }).catch(() => 'left'));
    const readEngines = () => Promise.all(engines.map((engine) => engine.read()));
    const total = async () => (await readEngines()).reduce((sum, { inflight }) => sum + inflight, 0);
    await pollUntil(async () => (await total()) === 2, 'both at engines');
    for (const client of clients) client.abort();
    await Promise.all(calls);
    await pollUntil(async () => (await total()) === 0, 'free engines');
    await pollUntil(
      async () => Object.values(await readInflight()).every((count) => count === 0),
      'free slots',
    );
  });

  it('give an unused reservation back after 2 s', async () => {
    const reserve = () =>
      fetch(`${replicas[1]!.origin}/internal/reservations`, {
        method: 'POST',
        headers: { 'x-berth-peer-token': PEER_TOKEN },
      });
    const begun = performance.now();
    expect((await reserve()).status).to.equal(201);
    expect((await reserve()).status).to.equal(429);
    await pollUntil(async () => (await reserve()).status === 201, 'the expiry');
    expect(performance.now() - begun).to.be.at.least(1_900);
  });

  it('use a reservation once', async () => {
    const headers = { 'x-berth-peer-token': PEER_TOKEN };
    // The one slot may still be promised to an earlier caller.
    let id: string | null = null;
    await pollUntil(async () => {
      const url = `${replicas[1]!.origin}/internal/reservations`;
      const reserved = await fetch(url, { method: 'POST', headers });
      id = reserved.headers.get('x-berth-reservation');
      return reserved.status === 201;
    }, 'a reservation');
    const use = () =>
      fetch(`${replicas[1]!.origin}/internal/engine/v1/models`, {
        headers: { ...headers, 'x-berth-reservation': id! },
      });
    expect((await use()).status).to.equal(200);
    const late = await use();
    expect(late.status).to.equal(409);
    expect(late.headers.get('x-berth-unsent')).to.equal('1');
  });

  const strangers: [string, Record<string, string>][] = [
    ['without a token', {}],
    ['with a wrong token', { 'x-berth-peer-token': 'guess' }],
    ['with an API key', { authorization: `Bearer ${API_KEY}` }],
  ];
  for (const [how, headers] of strangers)
    it(`show the inside to nobody ${how}: it is an unknown path`, async () => {
      for (const path of ['/internal/reservations', '/internal/engine/v1/models']) {
        const answer = await readError(
          await fetch(`${replicas[0]!.origin}${path}`, { method: 'POST', headers }),
        );
        expect(answer).to.include({ status: 404, code: 'not_found' });
      }
    });

  it('pass a peer over whose engine is not healthy, and serve by a peer when the own is not', async () => {
    await engines[0]!.control({ healthy: false });
    await pollUntil(async () => (await replicas[0]!.admin('/readyz')).status === 503, 'unready');
    const before = await countRequests();
    const response = await callChat(replicas[0]!.url);
    expect(response.status).to.equal(200);
    expect((await countRequests())[0]).to.equal(before[0]);
    await engines[0]!.control({ healthy: true });
    await pollUntil(async () => (await replicas[0]!.admin('/readyz')).status === 200, 'ready');
  });

  it('report a peer that dies during a forwarded request, and forget it', async () => {
    await Promise.all(engines.map((engine) => engine.control({ ttftMs: 50, itlMs: 50, tokens: 100 })));
    const before = await countRequests();
    const held = await streamChat(replicas[0]!.url);
    await pollUntil(() => held.frames() > 0, 'the held stream');
    const forwarded = await streamChat(replicas[0]!.url);
    await pollUntil(() => forwarded.frames() > 2, 'the forwarded stream');
    const now = await countRequests();
    const index = now[1]! > before[1]! ? 1 : 2;
    await replicas[index]!.stop('SIGKILL');

    const broken = await forwarded.ended;
    expect(broken.error).to.equal(undefined);
    expect(broken.isWhole).to.equal(false);
    expect(broken.text).to.match(/data: \{"error":\{[^\n]*"code":"upstream_error"/);
    expect((await held.ended).isWhole).to.equal(true);

    await Promise.all(engines.map((engine) => engine.control({ ...SLOW, tokens: 200 })));
    const streams = [await streamChat(replicas[0]!.url), await streamChat(replicas[0]!.url)];
    expect(streams.map(({ status }) => status)).to.deep.equal([200, 200]);
    const refused = await readError(await callChat(replicas[0]!.url));
    expect(refused.code).to.equal('replica_saturated');
    for (const { ended } of streams) expect((await ended).isWhole).to.equal(true);
  });
});
