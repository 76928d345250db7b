import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import type { StoredObject } from '../../../api/request.ts';
import { removeEvents, takeEvents } from '../../../redis/deliveries/delivery-calls.ts';
import {
  registerObjects,
  takeDueObjects,
  unregisterObjects,
} from '../../../redis/requests/object-cleanup.ts';
import { cancelQueued } from '../../../redis/requests/queue-cancellation.ts';
import { finishRequest, releaseRequest, renewClaim } from '../../../redis/requests/request-calls.ts';
import { useMediaWorkspace } from '../../support/media-workspace.ts';
import {
  deriveEventId,
  failure,
  newRequestId,
  newToken,
  outputOf,
  passTime,
  publishMedia,
  success,
} from '../../support/request-fixture.ts';

/** Long enough for what must happen before it is over, on a busy machine too. */
const SOON_MS = 1_500;

describe('the end of a request', () => {
  const space = useMediaWorkspace();
  const { deployment, claim, cancel, read, events, submitted: submit } = space;
  const dueObjects = () => takeDueObjects(space.redis, space.namespace, { limit: 100, leaseMs: 60_000 });
  const object = (key: string): StoredObject => ({ credential: null, key });

  it('is that of all that is queued at once, but not of what is queued later or runs', async () => {
    const running = await submit();
    await claim();
    const queued = [await submit(), await submit()];
    await delay(5);
    const place = { namespace: space.namespace, deployment };
    const { before, ...part } = await cancelQueued(space.redis, place);
    expect(part).to.deep.equal({ canceled: 2, hasMore: false });
    const later = await submit();
    expect(await cancelQueued(space.redis, { ...place, before })).to.include({ canceled: 0 });
    const statuses = await Promise.all(
      [running, ...queued, later].map(async (id) => (await read(id)).status),
    );
    expect(statuses).to.deep.equal(['running', 'canceled', 'canceled', 'queued']);
  });

  describe('finish', () => {
    it('keeps where the files are, drops the prompt and writes request.completed', async () => {
      const id = await submit({ webhookUrl: 'https://example.com/hook' });
      const job = (await claim())!;
      expect(await space.redis.exists(`w:{${space.namespace}}:params:${id}`)).to.equal(1);
      expect(await finishRequest(space.redis, job.claim, success())).to.equal('done');
      const record = await read(id);
      expect(record).to.deep.include({ status: 'succeeded', output: outputOf('results/one.mp4') });
      expect(record.completedAt).to.be.at.least(record.startedAt!);
      expect(await space.redis.exists(`w:{${space.namespace}}:params:${id}`)).to.equal(0);

      const [event, ...others] = await events();
      expect(others).to.deep.equal([]);
      expect(event).to.deep.include({
        id: deriveEventId(id),
        type: 'request.completed',
        requestId: id,
        webhookUrl: 'https://example.com/hook',
      });
      const completed = Math.floor(record.completedAt! / 1000);
      expect(JSON.parse(event!.body)).to.deep.equal({
        id: deriveEventId(id),
        type: 'request.completed',
        created_at: completed,
        data: {
          id,
          status: 'succeeded',
          modality: 'video',
          namespace_name: space.namespace,
          registration_id: record.registrationId,
          created_at: Math.floor(record.queuedAt / 1000),
          completed_at: completed,
          output_object_key: 'results/one.mp4',
          output_bucket: 'results',
          result_payload: { outputs: 1 },
          error_code: null,
          error_message: null,
        },
      });
    });

    it('keeps why it failed, word for word, and writes request.failed', async () => {
      const id = await submit();
      const message = 'Say "no"\n\tto \\ / é 😀 \u0001';
      const outcome = { status: 'failed', code: 'vram_exceeded', message, objects: [] } as const;
      await finishRequest(space.redis, (await claim())!.claim, outcome);
      const ending = { status: 'failed', errorCode: 'vram_exceeded', errorMessage: message, output: null };
      expect(await read(id)).to.deep.include(ending);
      const [event] = await events();
      expect(event?.type).to.equal('request.failed');
      expect(JSON.parse(event!.body).data).to.deep.include({
        status: 'failed',
        error_code: 'vram_exceeded',
        error_message: message,
        output_object_key: null,
        output_bucket: null,
        result_payload: {},
      });
    });

    it('answers already_done_by_you to a repeat, even with another outcome, and changes nothing', async () => {
      const id = await submit({ priceMicros: 7 });
      const { claim: held } = (await claim())!;
      await finishRequest(space.redis, held, success());
      const record = await read(id);
      expect(await finishRequest(space.redis, held, failure())).to.equal('already_done_by_you');
      expect(await read(id)).to.deep.equal(record);
      expect(await space.redis.get(`w:{${space.namespace}}:credit`)).to.equal('7');
      expect(await events()).to.have.length(1);
    });

    it('answers stale to every other token and to an unknown request', async () => {
      const id = await submit();
      expect(
        await finishRequest(space.redis, { namespace: space.namespace, id, token: '' }, success()),
      ).to.equal('stale');
      const { claim: held } = (await claim())!;
      const stranger = { ...held, token: newToken() };
      expect(await finishRequest(space.redis, stranger, success())).to.equal('stale');
      const unknown = { ...held, id: newRequestId() };
      expect(await finishRequest(space.redis, unknown, success())).to.equal('stale');
      expect((await read(id)).status).to.equal('running');
      await releaseRequest(space.redis, held);
      const nobody = { ...held, token: '' };
      expect(await finishRequest(space.redis, nobody, success())).to.equal('stale');
      expect(await renewClaim(space.redis, nobody)).to.equal('stale');
    });

    it('comes too late past the deadline: the request has timed out, and the worker is stale', async () => {
      await publishMedia(space.redis, {
        namespace: space.namespace,
        name: deployment,
        limits: { videoTimeoutMs: 20 },
      });
      const id = await submit({ priceMicros: 7 });
      const { claim: held } = (await claim())!;
      await passTime(space.redis, 20);
      for (let i = 0; i < 2; i++) {
        expect(await finishRequest(space.redis, held, success())).to.equal('stale');
      }
      expect(await read(id)).to.include({ status: 'failed', errorCode: 'model_timeout' });
      expect(await space.redis.get(`w:{${space.namespace}}:credit`)).to.equal('0');
      expect(await events()).to.have.length(1);
    });

    it('replaces a payload that would make the event larger than 64 KiB', async () => {
      for (const [length, truncated] of [
        [64_000, false],
        [65_536, true],
      ] as const) {
        await submit();
        const payload = { text: 'x'.repeat(length) };
        await finishRequest(space.redis, (await claim())!.claim, { ...success(), payload });
        const [event] = await events();
        expect(event!.body.length).to.be.at.most(65_536);
        const { result_payload: result } = JSON.parse(event!.body).data;
        expect(result).to.deep.equal(truncated ? { _truncated: true } : payload);
        await removeEvents(space.redis, space.namespace, [event!.id]);
      }
    });

    it('ends a request of a hundred images whose links alone are larger than an event', async () => {
      const id = await submit();
      const keys = Array.from({ length: 100 }, (_, i) => `${'p'.repeat(200)}/${id}/${i}.png`);
      const outcome = {
        ...success(keys.map((key) => ({ object: object(key), removeInMs: 60_000 }))),
        output: outputOf(...keys),
        payload: { data: keys.map((key) => ({ url: 'x'.repeat(2_000), object_key: key })) },
      };
      expect(await finishRequest(space.redis, (await claim())!.claim, outcome)).to.equal('done');
      expect((await read(id)).output?.keys).to.deep.equal(keys);
      const [event] = await events();
      expect(JSON.parse(event!.body).data.result_payload).to.deep.equal({ _truncated: true });
    });
  });

  describe('stored objects', () => {
    it('come up when they are due, and again unless they were said to be removed', async () => {
      const { redis } = space;
      await registerObjects(redis, space.namespace, {
        objects: [object('soon'), object('too')],
        removeInMs: SOON_MS,
      });
      await registerObjects(redis, space.namespace, { objects: [object('late')], removeInMs: 60_000 });
      expect(await dueObjects()).to.deep.equal([]);
      await passTime(redis, SOON_MS);
      const due = await takeDueObjects(redis, space.namespace, { limit: 10, leaseMs: SOON_MS });
      expect(due).to.have.deep.members([object('soon'), object('too')]);
      expect(await dueObjects(), 'under the lease').to.deep.equal([]);
      await passTime(redis, SOON_MS);
      expect(await takeDueObjects(redis, space.namespace, { limit: 1, leaseMs: 5 })).to.have.length(1);
      await unregisterObjects(redis, space.namespace, [object('soon'), object('too')]);
      await passTime(redis, 5);
      expect(await dueObjects()).to.deep.equal([]);
    });

    it('of an input belong to the request once it is accepted, and are due when it ends', async () => {
      const { redis } = space;
      const inputs = [object('inputs/1'), object('inputs/2')];
      for (const end of ['finish', 'cancel']) {
        await registerObjects(redis, space.namespace, { objects: inputs, removeInMs: 0 });
        const id = await submit({ inputs });
        expect(await dueObjects(), 'while it waits').to.deep.equal([]);
        if (end === 'cancel') await cancel(id);
        else await finishRequest(redis, (await claim())!.claim, failure());
        expect(await dueObjects()).to.have.deep.members(inputs);
      }
    });

    it('of a result are kept until their retention ends, or for ever', async () => {
      const { redis } = space;
      await submit();
      const { claim: held } = (await claim())!;
      const [kept, managed] = [{ credential: 'mine', key: 'kept' }, object('managed')];
      await registerObjects(redis, space.namespace, { objects: [kept, managed], removeInMs: 0 });
      const fates = [
        { object: kept, removeInMs: null },
        { object: managed, removeInMs: SOON_MS },
      ];
      await finishRequest(redis, held, success(fates));
      expect(await dueObjects()).to.deep.equal([]);
      await passTime(redis, SOON_MS);
      expect(await dueObjects()).to.deep.equal([managed]);
    });
  });

  describe('the outbox', () => {
    it('gives events under a lease, oldest first, until they are removed', async () => {
      const ids = [];
      for (let i = 0; i < 3; i++) {
        ids.push(await submit());
        await cancel(ids[i]!);
        await passTime(space.redis, 1);
      }
      const take = (limit: number, leaseMs: number) =>
        takeEvents(space.redis, space.namespace, { limit, leaseMs });
      const first = await take(2, 5);
      expect(first.map(({ requestId }) => requestId)).to.deep.equal(ids.slice(0, 2));
      await removeEvents(space.redis, space.namespace, [first[0]!.id]);
      await passTime(space.redis, 5);
      const left = await take(10, 60_000);
      expect(left.map(({ requestId }) => requestId)).to.have.members(ids.slice(1));
      await removeEvents(
        space.redis,
        space.namespace,
        left.map(({ id }) => id),
      );
      expect(await space.redis.keys(`w:{${space.namespace}}:event:*`)).to.deep.equal([]);
    });

    it('drops rows that are no events, and gives the others', async () => {
      const { redis } = space;
      const id = await submit();
      await cancel(id);
      await redis.zadd(`w:{${space.namespace}}:outbox`, '0', 'evt_gone', '0', 'evt_odd', '0', 'evt_huge');
      await redis.set(`w:{${space.namespace}}:event:evt_odd`, 'odd');
      const huge = JSON.stringify({ type: 'request.failed', data: { id: 'x'.repeat(200_000) } });
      await redis.set(`w:{${space.namespace}}:event:evt_huge`, `\n${huge}`);
      expect((await events()).map(({ requestId }) => requestId)).to.deep.equal([id]);
      expect(await redis.zrange(`w:{${space.namespace}}:outbox`, '0', '-1')).to.deep.equal([
        deriveEventId(id),
      ]);
    });
  });
});
