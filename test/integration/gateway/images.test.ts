import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { workKeys } from '../../../api/redis-keys.ts';
import { openBodyMemory } from '../../../gateway/http/body-memory.ts';
import { readRequest } from '../../../redis/requests/request-record.ts';
import { describePicture, makePicture } from '../../support/media-files.ts';
import { pollUntil } from '../../support/poll.ts';
import { startScriptedEngine } from '../../support/text-endpoint.ts';
import { readEnvelope } from '../../support/text-fixture.ts';
import { decodeImage, readImages } from './images-answer.ts';
import { type ImagesEndpoint, type ImagesFixture, startImagesFixture } from './images-fixture.ts';

describe('images, while their client waits', () => {
  let fixture: ImagesFixture;
  let endpoint: ImagesEndpoint;

  before(async () => {
    fixture = await startImagesFixture();
    endpoint = await fixture.start();
  });
  after(() => fixture?.stop());
  afterEach(async () => {
    await fixture.simulator.reset();
    // The answer ends a moment before its files are removed.
    await pollUntil(() => fixture.listSpooled().length === 0, 'no file is left in the spool');
  });

  const listCleanup = () =>
    fixture.connection.redis.zrange(workKeys('team').cleanup, '0', '-1', 'WITHSCORES');

  it('share the memory of answers, which is free again when they are sent, and cost nothing where there is none', async () => {
    const picture = Buffer.concat([await makePicture(8, 8), randomBytes(2 ** 21)]);
    const answer = JSON.stringify({ data: [{ b64_json: picture.toString('base64') }] });
    const engine = await startScriptedEngine((_, res) => res.end(answer));
    try {
      const roomy = openBodyMemory(2 ** 24, 10);
      const served = await fixture.start({ engineURL: engine.url, memory: roomy });
      const { data } = await readImages(await served.generate({ response_format: 'b64_json' }));
      expect(decodeImage(data[0]!.b64_json).equals(picture)).to.equal(true);
      await pollUntil(() => roomy.used === 0, 'the memory is free');

      const narrow = openBodyMemory(2 ** 21, 10);
      const refused = await fixture.start({ engineURL: engine.url, memory: narrow });
      const envelope = await readEnvelope(await refused.generate({ response_format: 'b64_json' }));
      expect(envelope).to.deep.include({ status: 503, code: 'temporarily_unavailable' });
      expect(envelope.headers.get('x-should-retry')).to.equal('false');
      expect(narrow.used).to.equal(0);
    } finally {
      await engine.stop();
    }
  });

  describe('what comes back', () => {
    it('is a link by default, to an image of the size asked for, removed after it ended', async () => {
      const before = Date.now();
      const { created, data } = await readImages(await endpoint.generate({ size: '256x256' }));
      expect(created).to.be.closeTo(before / 1000, 5);
      expect(data).to.have.lengthOf(1);
      const link = await fetch(data[0]!.url!);
      expect(link.headers.get('content-type')).to.equal('image/png');
      expect(await describePicture(await link.arrayBuffer())).to.equal('png 256x256');
      const [member, removedAt] = (await listCleanup()).slice(-2);
      expect(member).to.match(/^\[null,"results\/team\/req_[0-9a-f]{32}\/[0-9a-f]{32}\/0\.png"\]$/);
      expect(Number(removedAt) - before).to.be.closeTo(70 * 60_000, 10_000);
    });

    it('is inline with b64_json, and nothing is stored', async () => {
      const stored = fixture.listManaged().length;
      const { data } = await readImages(await endpoint.generate({ n: 3, response_format: 'b64_json' }));
      expect(data).to.have.lengthOf(3);
      for (const { b64_json } of data)
        expect(await describePicture(decodeImage(b64_json))).to.equal('png 64x64');
      expect(new Set(data.map(({ b64_json }) => b64_json))).to.have.property('size', 3);
      expect(fixture.listManaged()).to.have.lengthOf(stored);
    });

    it('passes the parameters to the engine under the engine’s names', async () => {
      await readImages(
        await endpoint.generate({ n: 2, seed: 5, response_format: 'b64_json', style: 'vivid' }),
      );
      const { last } = await fixture.simulator.readControl();
      expect(last).to.deep.include({ method: 'POST', path: '/v1/images/generations' });
      expect(last!.body).to.deep.equal({
        model: endpoint.config.servedModelName,
        prompt: 'a lighthouse',
        n: 2,
        size: '64x64',
        response_format: 'b64_json',
        seed: 5,
      });
    });

    it('is another image each time without a seed, also of an engine that has one seed only', async () => {
      const sglang = await fixture.start({ settings: { enginePreset: 'sglang-diffusion' } });
      const make = async () =>
        (await readImages(await sglang.generate({ response_format: 'b64_json' }))).data[0]!;
      expect((await make()).b64_json).not.to.equal((await make()).b64_json);
    });
  });

  describe('stream: true', () => {
    const cases = [
      { route: 'generations', type: 'image_generation.completed' },
      { route: 'edits', type: 'image_edit.completed' },
    ];
    for (const { route, type } of cases)
      it(`is one ${type} event, then the end`, async () => {
        const response =
          route === 'edits'
            ? await endpoint.edit([
                ['image', await makePicture(10, 10)],
                ['stream', 'true'],
              ])
            : await endpoint.generate({ stream: true });
        expect(response.headers.get('content-type')).to.match(/^text\/event-stream/);
        const events = (await response.text()).split('\n\n').filter((event) => event !== '');
        expect(events).to.have.lengthOf(1);
        const [name, data] = events[0]!.split('\n');
        expect(name).to.equal(`event: ${type}`);
        const event = JSON.parse(data!.replace('data: ', ''));
        expect(event).to.deep.include({ type, size: '64x64', output_format: 'png' });
        expect(await describePicture(decodeImage(event.b64_json))).to.equal('png 64x64');
      });

    it('answers an engine’s failure with its status, not as a stream', async () => {
      await fixture.simulator.putControl({ fault: { kind: 'status', status: 500 } });
      const envelope = await readEnvelope(await endpoint.generate({ stream: true }));
      expect(envelope).to.deep.include({ status: 502, code: 'upstream_error' });
    });
  });

  describe('places', () => {
    it('are at a peer when this replica is full, edits too', async () => {
      const peer = await fixture.start({ settings: { concurrency: 1 } });
      const full = await fixture.start({ settings: { concurrency: 0 }, peers: [peer] });
      await readImages(await full.generate({ n: 2, response_format: 'b64_json' }));
      const { data } = await readImages(await full.edit([['image', await makePicture(300, 200)]]));
      expect((await fetch(data[0]!.url!)).status).to.equal(200);
      expect(await full.readMetric('berth_gateway_forwarded_requests_total')).to.equal(2);
      await pollUntil(() => peer.slots.inflight === 0, 'the peer’s place is free');
    });

    it('are refused only after every peer refused', async () => {
      const peers = [await fixture.start({ settings: { concurrency: 1 } })];
      peers.push(await fixture.start({ settings: { concurrency: 1 } }));
      const full = await fixture.start({ settings: { concurrency: 0 }, peers });
      await fixture.simulator.putControl({ jobSeconds: 2 });
      const body = { response_format: 'b64_json' };
      const statuses = (await Promise.all([1, 2, 3].map(() => full.generate(body)))).map(
        ({ status }) => status,
      );
      expect(statuses.sort()).to.deep.equal([200, 200, 429]);
    });

    it('of a peer stay taken after a 504, until the engine has stopped', async () => {
      const peer = await fixture.start({ settings: { concurrency: 1 } });
      const limits = { imageTimeoutMs: 1_000 };
      const full = await fixture.start({ settings: { concurrency: 0 }, limits, peers: [peer] });
      await fixture.simulator.putControl({ jobSeconds: 5 });
      expect((await full.generate()).status).to.equal(504);
      expect(peer.slots.inflight).to.equal(1);
      expect((await full.generate()).status).to.equal(429);
      await pollUntil(() => peer.slots.inflight === 0, 'the place is free');
      expect((await fixture.simulator.readControl()).aborted).to.equal(0);
    });

    it('are refused with 429 replica_saturated when all are taken', async () => {
      const full = await fixture.start({ settings: { concurrency: 0 } });
      const envelope = await readEnvelope(await full.generate());
      expect(envelope).to.deep.include({ status: 429, code: 'replica_saturated' });
      expect(envelope.message).to.include('async=true');
      expect(envelope.headers.get('retry-after')).to.equal('5');
      expect(envelope.headers.get('x-should-retry')).to.equal(null);
    });

    it('are none in the front: 503 no_pod_available', async () => {
      const front = await fixture.start({ isFront: true });
      const envelope = await readEnvelope(await front.generate());
      expect(envelope).to.deep.include({ status: 503, code: 'no_pod_available' });
      expect(envelope.headers.get('retry-after')).to.not.equal(null);
    });
  });

  describe('the budget', () => {
    const cases = [
      { route: 'generations', code: 'image_generation_timeout' },
      { route: 'edits', code: 'image_edit_timeout' },
    ];
    for (const { route, code } of cases)
      it(`ends ${route} with 504 ${code}; the slot is free once the engine has stopped`, async () => {
        const brief = await fixture.start({
          settings: { concurrency: 1 },
          limits: { imageTimeoutMs: 1_000 },
        });
        await fixture.simulator.putControl({ jobSeconds: 5 });
        const picture = await makePicture(10, 10);
        const response = await (route === 'edits' ? brief.edit([['image', picture]]) : brief.generate());
        const envelope = await readEnvelope(response);
        expect(envelope).to.deep.include({ status: 504, code });
        expect(envelope.message).to.contain(
          'longer than 1 s: use async=true, which allows up to 30 minutes.',
        );
        expect(envelope.headers.get('x-should-retry')).to.equal('false');

        expect(brief.slots.inflight).to.equal(1);
        const { status } = await readEnvelope(await brief.generate());
        expect(status).to.equal(429);
        await pollUntil(() => brief.slots.inflight === 0, 'the place is free');
        expect((await fixture.simulator.readControl()).aborted).to.equal(0);
      });

    it('frees the slot of an engine that never stops, after a timeout', async () => {
      const brief = await fixture.start({
        settings: { concurrency: 1 },
        limits: { imageTimeoutMs: 200 },
        orphanTimeoutMs: 300,
      });
      await fixture.simulator.putControl({ jobSeconds: 600 });
      expect((await brief.generate()).status).to.equal(504);
      await pollUntil(() => brief.slots.inflight === 0, 'the place is free');
      await pollUntil(
        async () => (await fixture.simulator.readControl()).inflight === 0,
        'the engine was told',
      );
    });
  });

  describe('with async=true', () => {
    const acknowledge = async (response: Response) => {
      expect(response.status, await response.clone().text()).to.equal(202);
      const answer = (await response.json()) as { id: string; estimated_seconds: number };
      expect(answer).to.deep.equal({
        id: answer.id,
        object: 'inference.request',
        status: 'queued',
        modality: 'image',
        estimated_seconds: answer.estimated_seconds,
      });
      expect(answer.estimated_seconds).to.be.a('number').that.is.at.least(1);
      const record = await readRequest(fixture.connection.redis, 'team', answer.id);
      expect(record).to.deep.include({ status: 'queued', modality: 'image', deployment: 'painter' });
    };

    it('are acknowledged, though every replica is full', async () => {
      const full = await fixture.start({ settings: { concurrency: 0 } });
      await acknowledge(await full.generate({}, { query: '?async=true' }));
      expect((await fixture.simulator.readControl()).requests).to.equal(0);
    });

    it('are acknowledged by the front, uploads too', async () => {
      const front = await fixture.start({ isFront: true });
      const stored = fixture.listManaged().length;
      await acknowledge(await front.generate({}, { query: '?async=true' }));
      await acknowledge(await front.edit([['image', await makePicture(20, 20)]], '?async=true'));
      expect(fixture.listManaged()).to.have.lengthOf(stored + 1);
    });
  });

  it('are made anew for the same Idempotency-Key, and send no event', async () => {
    const { redis } = fixture.connection;
    const events = workKeys('team').outbox;
    const before = await redis.zcard(events);
    const order = { response_format: 'b64_json', webhook_url: 'https://93.184.215.14/hook' };
    const headers = { 'idempotency-key': 'the same' };
    const asked = (await fixture.simulator.readControl()).requests;
    for (let index = 0; index < 2; index++) await readImages(await endpoint.generate(order, { headers }));
    expect((await fixture.simulator.readControl()).requests).to.equal(asked + 2);
    expect(await redis.zcard(events)).to.equal(before);
  });

  it('keeps the slot of a client that disconnects until the engine has stopped', async () => {
    const single = await fixture.start({ settings: { concurrency: 1 } });
    const stored = fixture.listManaged();
    await fixture.simulator.putControl({ jobSeconds: 3 });
    const leave = new AbortController();
    const left = single.generate({}, { signal: leave.signal }).catch((error: Error) => error.name);
    await pollUntil(async () => (await fixture.simulator.readControl()).inflight === 1, 'the engine works');
    leave.abort();
    expect(await left).to.equal('AbortError');
    await pollUntil(
      async () => (await single.readMetric('berth_gateway_requests_inflight')) === 0,
      'the request has ended',
    );
    expect(single.slots.inflight).to.equal(1);
    await pollUntil(() => single.slots.inflight === 0, 'the place is free');
    expect((await fixture.simulator.readControl()).aborted).to.equal(0);
    expect(fixture.listManaged()).to.deep.equal(stored);
  });

  describe('an engine that fails', () => {
    const cases = [
      {
        what: 'runs out of memory',
        fault: { kind: 'oom' },
        says: /ran out of memory/,
        reason: 'out_of_memory',
      },
      { what: 'drops the connection', fault: { kind: 'drop' }, says: /closed the connection/ },
      { what: 'answers half', fault: { kind: 'end' }, says: /other than JSON/ },
      { what: 'answers 500', fault: { kind: 'status', status: 500 }, says: /encountered an issue/ },
      { what: 'makes no image', fault: { kind: 'status', status: 200, body: { data: [] } }, says: /0 of 1/ },
      {
        what: 'answers with a link',
        fault: { kind: 'status', status: 200, body: { data: [{ url: 'http://x/y.png' }] } },
        says: /no image/,
      },
      {
        what: 'makes something else',
        fault: { kind: 'status', status: 200, body: { data: [{ b64_json: 'aGVsbG8=' }] } },
        says: /other than a PNG/,
      },
    ];
    for (const { what, fault, says, reason = 'upstream_error' } of cases)
      it(`and ${what} is a 502 upstream_error, and the place is free`, async () => {
        const single = await fixture.start({ settings: { concurrency: 1 } });
        await fixture.simulator.putControl({ fault });
        const envelope = await readEnvelope(await single.generate());
        expect(envelope).to.deep.include({ status: 502, code: 'upstream_error' });
        expect(envelope.message).to.match(says).and.to.include('async=true reports the exact cause');
        expect(single.slots.inflight).to.equal(0);
        expect(await single.readMetric(`berth_gateway_engine_errors_total{reason="${reason}"}`)).to.equal(1);
      });
  });
});
