import { expect } from 'chai';
import { GATEWAY_ENV } from '../../../api/gateway-environment.ts';
import { hashApiKey } from '../../../api/identity.ts';
import { configKeys } from '../../../api/redis-keys.ts';
import { type ChatOptions, callChat, readError, streamChat } from '../../support/chat.ts';
import {
  type ColdDeployment,
  COLD_HOST as HOST,
  startColdDeployment,
} from '../../support/cold-deployment.ts';
import { fetchByHost } from '../../support/host-fetch.ts';
import { API_KEY } from '../../support/model-replica.ts';
import { pollUntil } from '../../support/poll.ts';
import { publishApiKey } from '../../support/publication.ts';

const MIB = 1024 * 1024;
/** Slots of the replica. */
const SLOTS = 2;
const HELD = 105;

describe('a deployment that scales to zero', () => {
  let cold: ColdDeployment;
  before(async () => {
    const limits = { waitForSlot: '0s', streamKeepAlive: '5s' };
    cold = await startColdDeployment({ concurrency: SLOTS, limits });
  });
  after(() => cold?.stop());

  const reject = (loadTimeMs: number | null = null) => ({
    scaling: { coldStart: 'Reject' as const, holdForMs: 60_000, loadTimeMs },
  });
  const hold = (holdForMs = 60_000, loadTimeMs: number | null = 40_000) => ({
    scaling: { coldStart: 'Hold' as const, holdForMs, loadTimeMs },
  });
  const call = (options: ChatOptions = {}, origin = cold.front.origin) =>
    callChat(`${origin}/v1`, { host: HOST, ...options });
  const stream = (options: ChatOptions = {}) =>
    streamChat(`${cold.front.origin}/v1`, { host: HOST, ...options });
  const untilHeld = (count: number) =>
    pollUntil(async () => (await cold.countHeld()) === count, `${count} held requests`);
  const readModel = async (): Promise<object> => {
    const response = await fetchByHost(`${cold.front.origin}/v1/models`, HOST, {
      headers: { authorization: `Bearer ${API_KEY}` },
    });
    expect(response.status).to.equal(200);
    return ((await response.json()) as { data: object[] }).data[0]!;
  };
  /** Waits until the front no longer knows of the replica. */
  const sleep = async (changes: Parameters<ColdDeployment['sleep']>[0]) => {
    await cold.sleep(reject());
    // A front does not show what only the engine knows.
    const isAsleep = async () => !('max_model_len' in (await readModel()));
    await pollUntil(isAsleep, 'the front to see it asleep');
    await cold.sleep(changes);
    // The front receives a published change before the next request.
    await pollUntil(isAsleep, 'asleep');
  };

  describe('and rejects meanwhile', () => {
    it('is woken by a request, whose Retry-After is what is left of the measured start', async () => {
      await sleep(reject(40_000));
      const answer = await readError(await call());
      expect(answer).to.include({ status: 503, code: 'no_pod_available', retryAfter: '40' });
      await pollUntil(() => cold.woken.length >= 2, 'it is said again');
      expect(new Set(cold.woken)).to.deep.equal(new Set(['team/chat']));
      const later = await readError(await call());
      expect(Number(later.retryAfter)).to.be.within(20, 39);
      const { fronts } = await cold.readDemand();
      expect(fronts[0]!.refused).to.be.greaterThan(0);
      expect(Math.abs(fronts[0]!.wantedAt - Date.now())).to.be.below(30_000);
      await cold.awaken();
      await pollUntil(async () => (await call()).status === 200, 'served');
    });

    it('tells of its model as a replica would, without being woken', async () => {
      await cold.awaken();
      await pollUntil(async () => 'max_model_len' in (await readModel()), 'the replica to tell');
      const { max_model_len: _, ...awake } = (await readModel()) as { max_model_len: number; id: string };
      await sleep(reject());
      expect(await readModel()).to.deep.equal(awake);
      const get = (id: string) =>
        fetchByHost(`${cold.front.origin}/v1/models/${id}`, HOST, {
          headers: { authorization: `Bearer ${API_KEY}` },
        });
      expect((await get(awake.id)).status).to.equal(200);
      expect((await readError(await get('other'))).code).to.equal('model_not_found');
    });

    it('is woken even where its configuration says 0 replicas', async () => {
      await sleep({ ...reject(50_000), replicas: 0 });
      const response = await call();
      expect(response.headers.get('x-should-retry')).to.equal(null);
      expect(await readError(response)).to.include({ code: 'no_pod_available', retryAfter: '50' });
      await pollUntil(() => cold.woken.length > 0, 'woken');
    });

    it('is woken by nobody who would not be served, and by nobody who only looks', async () => {
      const { redis } = cold.stack;
      const key = { n: 'tight', rpm: 0, tpd: 1_000, exp: 0, off: 0 as const };
      await publishApiKey(redis, 'team', hashApiKey('sk-rpm'), key);
      await publishApiKey(redis, 'team', hashApiKey('sk-tpd'), { ...key, rpm: 9, tpd: 0 });
      // A request for a replica lasts until one comes, so that of the last test has to expire.
      await sleep(reject());
      await cold.awaken();
      await pollUntil(async () => (await call()).status === 200, 'served');
      await sleep(reject());
      cold.woken.splice(0);
      const { fronts: before } = await cold.readDemand();
      expect((await readError(await call({ key: 'sk-unknown' }))).status).to.equal(401);
      for (const key of ['sk-rpm', 'sk-tpd'])
        expect(await readError(await call({ key }))).to.include({ status: 429, code: 'rate_limit_exceeded' });
      const headers = { authorization: `Bearer ${API_KEY}` };
      const ask = (path: string, method: string) =>
        fetchByHost(`${cold.front.origin}${path}`, HOST, { method, headers });
      expect((await ask('/v1/models', 'GET')).status).to.equal(200);
      expect((await ask('/v1/embeddings', 'POST')).status).to.equal(400);
      expect((await ask('/v1/nothing', 'POST')).status).to.equal(404);
      await redis.hset(configKeys('team').workspace, 'creditMicros', '0');
      expect((await readError(await call())).code).to.equal('insufficient_quota');
      await redis.hdel(configKeys('team').workspace, 'creditMicros');
      expect(cold.woken).to.deep.equal([]);
      expect((await cold.readDemand()).fronts[0]?.refused).to.equal(before[0]?.refused);
      expect((await call()).status).to.equal(503);
      await pollUntil(() => cold.woken.length > 0, 'woken by a good request');
    });

    it('is wanted by no more requests of a key than its limit, however many it sends', async () => {
      const key = { n: 'tight', rpm: 2, tpd: 1_000, exp: 0, off: 0 as const };
      await publishApiKey(cold.stack.redis, 'team', hashApiKey('sk-two'), key);
      await sleep(reject());
      const countRefused = async () => (await cold.readDemand()).fronts[0]?.refused ?? 0;
      const before = await countRefused();
      const answers = [];
      for (let index = 0; index < 40; index++) answers.push(await readError(await call({ key: 'sk-two' })));
      const statuses = answers.map(({ status }) => status);
      expect(statuses).to.deep.equal([503, 503, ...Array.from({ length: 38 }, () => 429)]);
      expect(answers.at(-1)!.code).to.equal('rate_limit_exceeded');
      expect(Number(answers.at(-1)!.retryAfter)).to.be.within(1, 60);
      await call();
      await pollUntil(async () => (await countRefused()) > before, 'the front to say it');
      // What was refused before may not have been said.
      expect((await countRefused()) - before).to.be.at.most(5);
    });
  });

  describe('and holds meanwhile', () => {
    it('answers what it held as soon as a replica is ready, oldest first and within its slots', async () => {
      await sleep(hold());
      await cold.engine.control({ ttftMs: 50, itlMs: 1, tokens: 5 });
      const order: number[] = [];
      const calls = [];
      for (let index = 0; index < HELD; index++) {
        const each = call().then(async (response) => {
          await response.text();
          order.push(index);
          return response.status;
        });
        calls.push(each);
        if (index === 0) await untilHeld(1);
      }
      await untilHeld(HELD);
      expect(cold.woken).to.include('team/chat');
      await cold.awaken();
      let most = 0;
      await pollUntil(
        async () => {
          most = Math.max(most, (await cold.engine.read()).inflight);
          return order.length === HELD;
        },
        'all answers',
        60_000,
        5,
      );
      console.log(
        `        ${HELD} held requests: at most ${most} at a time at an engine with ${SLOTS} slots`,
      );
      expect(new Set(await Promise.all(calls))).to.deep.equal(new Set([200]));
      expect(most).to.be.within(1, SLOTS);
      expect(order.indexOf(0)).to.be.below(5);
      await untilHeld(0);
      const { fronts } = await cold.readDemand();
      expect(fronts[0]!.heldMs).to.be.greaterThan(0);
    });

    it('passes headers and body on, also a body that it did not read', async () => {
      await sleep(hold());
      // Half a million tokens.
      await cold.engine.control({ contextTokens: 1_000_000 });
      const content = 'long '.repeat((2 * MIB) / 5);
      const large = call({
        body: { messages: [{ role: 'user', content }] },
        headers: { 'x-request-id': 'held-1', prefer: 'wait=50' },
      });
      const small = call({ body: { messages: [{ role: 'user', content: '\u{1F600} ünï' }] } });
      await untilHeld(2);
      await cold.awaken();
      const response = await large;
      expect([response.status, response.headers.get('x-request-id')]).to.deep.equal([200, 'held-1']);
      expect(response.headers.get('preference-applied')).to.equal('wait=50');
      expect(response.headers.get('x-ratelimit-remaining')).not.to.equal(null);
      expect((await small).status).to.equal(200);
    });

    it('ends a hold after the caller’s own wait, with a Retry-After that was learned', async () => {
      await sleep(hold());
      for (const [wait, least] of [
        ['wait=0', 0],
        ['respond-async, wait=1', 900],
      ] as const) {
        const begun = performance.now();
        const response = await call({ headers: { prefer: wait } });
        expect(performance.now() - begun).to.be.at.least(least);
        expect(response.headers.get('preference-applied')).to.equal(wait.split(', ').at(-1));
        const answer = await readError(response);
        expect(answer).to.include({ status: 503, code: 'no_pod_available' });
        expect(Number(answer.retryAfter)).to.be.within(20, 40);
      }
      await untilHeld(0);
      await sleep(hold(1_500));
      expect((await readError(await call())).status).to.equal(503);
    });

    it('keeps a stream alive by comments, and ends it as any other', async () => {
      await sleep(hold());
      const held = await stream();
      expect(held.status).to.equal(200);
      expect(held.headers.get('content-type')).to.match(/^text\/event-stream/);
      await cold.awaken();
      const { text, isWhole } = await held.ended;
      expect(isWhole).to.equal(true);
      expect(text).to.match(/^: waiting for a replica \(\d+ s of about \d+ s\)\n\n/);
      expect(text.split('data: ').length).to.be.greaterThan(3);
    });

    const dialects: [string, object, RegExp][] = [
      [
        '/v1/chat/completions',
        { messages: [{ role: 'user', content: 'Hi' }] },
        /\n\ndata: \{"error":\{[^\n]*"code":"no_pod_available"[^\n]*\n\n$/,
      ],
      [
        '/v1/responses',
        { input: 'Hi' },
        /\n\nevent: error\ndata: \{"type":"error","sequence_number":0,[^\n]*"code":"no_pod_available"[^\n]*\n\n$/,
      ],
      [
        '/v1/messages',
        { max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }] },
        /\n\nevent: error\ndata: \{"type":"error","error":\{"type":"overloaded_error"[^\n]*\n\n$/,
      ],
    ];
    it('ends a stream that no replica came for with an error event of its dialect', async () => {
      await sleep(hold(6_000));
      const texts = await Promise.all(
        dialects.map(async ([path, body]) => {
          const response = await fetchByHost(`${cold.front.origin}${path}`, HOST, {
            method: 'POST',
            headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' },
            body: JSON.stringify({ ...body, stream: true }),
          });
          expect(response.status).to.equal(200);
          return response.text();
        }),
      );
      for (const [index, text] of texts.entries()) {
        expect(text).to.match(/^(: waiting for a replica \(5 s|event: ping\n)/);
        expect(text).to.match(dialects[index]![2]);
      }
    });

    it('gives an error of the replica as an event where the stream has begun', async () => {
      await sleep(hold());
      const held = await stream({ body: { temperature: 'hot' } });
      await cold.awaken();
      const { text } = await held.ended;
      expect(text).to.match(/\n\ndata: \{"error":\{[^\n]*"param":"temperature"[^\n]*\n\n$/);
    });

    it('refuses at once what is no JSON', async () => {
      await sleep(hold());
      const response = await fetchByHost(`${cold.front.origin}/v1/chat/completions`, HOST, {
        method: 'POST',
        headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' },
        body: '{"messages":',
      });
      expect(await readError(response)).to.include({ status: 400, code: 'invalid_json' });
    });

    it('counts a request once, however often it was sent until a replica had a place for it', async () => {
      const key = { n: 'once', rpm: 1, tpd: 1_000_000, exp: 0, off: 0 as const };
      await publishApiKey(cold.stack.redis, 'team', hashApiKey('sk-once'), key);
      await sleep(hold());
      await cold.engine.control({ ttftMs: 2_500, itlMs: 1, tokens: 5 });
      const calls = cold.engine.read;
      const { requests: before } = await calls();
      const held = call({ key: 'sk-once' });
      await untilHeld(1);
      const busy = [callChat(cold.replica.url), callChat(cold.replica.url)];
      await pollUntil(async () => (await calls()).requests === before + 2, 'the replica to be full');
      await cold.awaken();
      expect((await held).status).to.equal(200);
      expect((await Promise.all(busy)).map(({ status }) => status)).to.deep.equal([200, 200]);
      expect((await readError(await call({ key: 'sk-once' }))).code).to.equal('rate_limit_exceeded');
      const text = await cold.replica.metrics();
      expect(text).to.match(/berth_gateway_requests_total\{[^}]*code="429"/);
      await cold.engine.control({ ttftMs: 50, itlMs: 1, tokens: 5 });
    });

    it('frees the place of a client that leaves', async () => {
      await sleep(hold());
      const leaving = new AbortController();
      const gone = call({ signal: leaving.signal }).catch(() => 'left');
      await untilHeld(1);
      leaving.abort();
      expect(await gone).to.equal('left');
      await untilHeld(0);
    });

    it('answers 503 when it is paused meanwhile', async () => {
      await sleep(hold());
      const held = call();
      await untilHeld(1);
      await cold.sleep({ ...hold(), paused: true });
      expect(await readError(await held)).to.include({ status: 503, code: 'no_pod_available' });
    });

    it('counts what a key has refused and held at all fronts together against its limit', async () => {
      const key = { n: 'shared', rpm: 4, tpd: 1_000_000, exp: 0, off: 0 as const };
      await publishApiKey(cold.stack.redis, 'team', hashApiKey('sk-shared'), key);
      await sleep(hold());
      const other = await cold.startFront();
      const origins = [cold.front.origin, other.origin];
      const calls = origins.flatMap((origin) => [0, 1].map(() => call({ key: 'sk-shared' }, origin)));
      await untilHeld(4);
      for (const origin of origins)
        expect((await readError(await call({ key: 'sk-shared' }, origin))).status).to.equal(429);
      await cold.awaken();
      const statuses = (await Promise.all(calls)).map(({ status }) => status);
      expect(statuses).to.deep.equal([200, 200, 200, 200]);
      await other.stop('SIGKILL');
    });

    it('answers all that two fronts hold for the same slots', async () => {
      await sleep(hold());
      await cold.engine.control({ ttftMs: 300, itlMs: 1, tokens: 5 });
      const other = await cold.startFront();
      const calls = Array.from({ length: 12 }, (_, index) =>
        call({}, index % 2 ? other.origin : cold.front.origin),
      );
      await untilHeld(12);
      await cold.awaken();
      const statuses = (await Promise.all(calls)).map(({ status }) => status);
      expect(new Set(statuses)).to.deep.equal(new Set([200]));
      await other.stop('SIGKILL');
    });

    it('refuses what is beyond its bounds, and on SIGTERM ends what it holds', async () => {
      await sleep(hold());
      const front = await cold.startFront({ [GATEWAY_ENV.maxHeldPerDeployment]: '4' });
      const held = [call({}, front.origin), call({}, front.origin)];
      await untilHeld(2);
      // One key has half of the places.
      const refused = await readError(await call({}, front.origin));
      expect(refused).to.include({ status: 503, code: 'no_pod_available' });
      const stopped = front.stop('SIGTERM');
      for (const answer of held) {
        const response = await answer;
        expect(response.headers.get('connection')).to.equal('close');
        expect(await readError(response)).to.include({ status: 503, retryAfter: '1' });
      }
      await stopped;
      expect(front.program.ended).to.equal(0);
    });
  });
});
