import { expect } from 'chai';
import { workKeys } from '../../../api/redis-keys.ts';
import { ApiError } from '../../../gateway/http/error-response.ts';
import { readSpentMicros } from '../../../redis/admission/admission-calls.ts';
import { publishWorkspace } from '../../../redis/publication/publication.ts';
import { pollUntil } from '../../support/poll.ts';

import { readEnvelope } from '../../support/text-fixture.ts';
import { type ImagesEndpoint, type ImagesFixture, startImagesFixture } from './images-fixture.ts';

const PRICE = 40_000;

describe('the price of images, while their client waits', () => {
  let fixture: ImagesFixture;
  let endpoint: ImagesEndpoint;
  const pricing = {
    perImage: PRICE,
    perVideoSecond: null,
    perMillionInputTokens: null,
    perMillionOutputTokens: null,
  };

  before(async () => {
    fixture = await startImagesFixture();
    endpoint = await fixture.start({ settings: { pricing } });
  });
  after(() => fixture?.stop());
  afterEach(() => fixture.simulator.reset());

  const readSpent = () => readSpentMicros(fixture.connection.redis, 'team');
  const grant = (creditMicros: number | null) =>
    publishWorkspace(fixture.connection.redis, 'team', { creditMicros });

  it('is taken for each of the images', async () => {
    const before = await readSpent();
    expect((await endpoint.generate({ n: 3, response_format: 'b64_json' })).status).to.equal(200);
    expect((await readSpent()) - before).to.equal(3 * PRICE);
  });

  it('is 402 insufficient_quota where credit is insufficient, before the engine hears of it', async () => {
    const before = await readSpent();
    await grant(before + 2 * PRICE);
    const { requests } = await fixture.simulator.readControl();
    const envelope = await readEnvelope(await endpoint.generate({ n: 3 }));
    expect(envelope).to.deep.include({ status: 402, code: 'insufficient_quota' });
    expect(envelope.headers.get('x-should-retry')).to.equal('false');
    expect((await fixture.simulator.readControl()).requests).to.equal(requests);
    expect(await readSpent()).to.equal(before);
    expect((await endpoint.generate({ n: 2, response_format: 'b64_json' })).status).to.equal(200);

    const free = await fixture.start();
    expect((await free.generate()).status, 'nothing is left, not even for what is free').to.equal(402);
    await grant(null);
  });

  it('is given back where the engine fails', async () => {
    const before = await readSpent();
    await fixture.simulator.putControl({ fault: { kind: 'oom' } });
    expect((await endpoint.generate()).status).to.equal(502);
    await pollUntil(async () => (await readSpent()) === before, 'it was given back');
  });

  it('is kept of a client that left while the engine was at work', async () => {
    await fixture.simulator.putControl({ jobSeconds: 0.5 });
    const before = await readSpent();
    const leave = new AbortController();
    const left = endpoint.generate({}, { signal: leave.signal }).catch((error: Error) => error.name);
    await pollUntil(async () => (await readSpent()) === before + PRICE, 'it was taken');
    leave.abort();
    expect(await left).to.equal('AbortError');
    await pollUntil(() => endpoint.slots.inflight === 0, 'the engine has let go');
    expect((await readSpent()) - before).to.equal(PRICE);
  });

  it('is given back where the replica is removed, whatever its engine still makes of it', async () => {
    await fixture.simulator.putControl({ jobSeconds: 2 });
    const before = await readSpent();
    const answer = endpoint.generate();
    await pollUntil(() => fixture.simulator.readControl().then(({ inflight }) => inflight === 1), 'at work');
    expect((await readSpent()) - before).to.equal(PRICE);
    endpoint.cutOff(new ApiError('no_pod_available', 'The replica is shutting down.', { retryAfter: 2 }));
    const envelope = await readEnvelope(await answer);
    expect(envelope).to.deep.include({ status: 503, code: 'no_pod_available' });
    await pollUntil(async () => (await readSpent()) === before, 'it was given back');
    await pollUntil(() => endpoint.slots.inflight === 0, 'the engine has let go');
    expect(await readSpent()).to.equal(before);
  });

  it('is kept where the budget ended while the engine was at work, and the engine went on to make the image', async () => {
    const late = await fixture.start({ settings: { pricing }, limits: { imageTimeoutMs: 2_000 } });
    await fixture.simulator.putControl({ jobSeconds: 4 });
    const before = await readSpent();
    expect((await late.generate()).status).to.equal(504);
    await pollUntil(() => late.slots.inflight === 0, 'the engine has let go');
    expect((await readSpent()) - before).to.equal(PRICE);
  });

  it('is given back where the engine makes nothing of what it was left at', async () => {
    const late = await fixture.start({
      settings: { pricing },
      limits: { imageTimeoutMs: 2_000 },
      orphanTimeoutMs: 300,
    });
    await fixture.simulator.putControl({ jobSeconds: 60 });
    const before = await readSpent();
    expect((await late.generate()).status).to.equal(504);
    await pollUntil(async () => (await readSpent()) === before, 'it was given back');
  });

  it('can be given back for longer than an image may take', async () => {
    const imageTimeoutMs = 3_600_000;
    const slow = await fixture.start({ settings: { pricing }, limits: { imageTimeoutMs } });
    const redis = fixture.connection.redis;
    const listCharges = async () => redis.keys(workKeys('team').charged('*'));
    const known = await listCharges();
    expect((await slow.generate({ response_format: 'b64_json' })).status).to.equal(200);
    const [charge] = (await listCharges()).filter((key) => !known.includes(key));
    expect((await redis.ttl(charge!)) * 1_000).to.be.above(imageTimeoutMs + 20 * 60_000 - 60_000);
  });

  it('is not taken where every replica is full', async () => {
    const full = await fixture.start({ settings: { pricing, concurrency: 0 } });
    const before = await readSpent();
    expect((await full.generate()).status).to.equal(429);
    expect(await readSpent()).to.equal(before);
  });

  it('makes Redis’ absence a 503, where it is not nothing; links need Redis too', async () => {
    const free = await fixture.start({ settings: { concurrency: 1 } });
    const before = await readSpent();
    fixture.redis.pause();
    try {
      const priced = await readEnvelope(await endpoint.generate({ response_format: 'b64_json' }));
      expect(priced).to.deep.include({ status: 503, code: 'temporarily_unavailable' });
      expect(priced.headers.get('retry-after')).to.equal('2');
      const link = await readEnvelope(await free.generate());
      expect(link).to.deep.include({ status: 503, code: 'temporarily_unavailable' });
      expect((await free.generate({ response_format: 'b64_json' })).status).to.equal(200);
      expect(free.slots.inflight).to.equal(0);
    } finally {
      fixture.redis.resume();
    }
    const isSpent = (micros: number) => async () => (await readSpent().catch(() => null)) === micros;
    await pollUntil(isSpent(before), 'what was given up costs nothing');
    expect((await endpoint.generate({ response_format: 'b64_json' })).status).to.equal(200);
    await pollUntil(isSpent(before + PRICE), 'the next one was charged');
  });
});
