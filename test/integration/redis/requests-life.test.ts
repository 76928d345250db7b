import { expect } from 'chai';
import { deriveEventId, type StoredObject } from '../../../contract/request.ts';
import type { RedisConnection } from '../../../redis/client.ts';
import { loadLibrary } from '../../../redis/library.ts';
import { forgetObjects, registerObjects, takeDueObjects } from '../../../redis/object-cleanup.ts';
import { removeEvents, takeEvents } from '../../../redis/outbox.ts';
import {
  cancelRequest,
  claimRequest,
  finishRequest,
  releaseRequest,
  renewClaim,
  type Submission,
  submitRequest,
} from '../../../redis/request-calls.ts';
import { readRequest } from '../../../redis/request-record.ts';
import { connectTo } from '../../support/redis-client.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import {
  failure,
  newRequestId,
  newToken,
  outputOf,
  passTime,
  publishMedia,
  submissionOf,
  success,
} from '../../support/request-fixture.ts';

describe('the life of a request', () => {
  let server: RedisServer;
  let connection: RedisConnection;
  let namespace: string;
  let workspaces = 0;
  const deployment = 'film';

  const submit = async (fields: Partial<Submission> = {}) => {
    const submission = submissionOf({ namespace, deployment, ...fields });
    await submitRequest(connection.redis, submission);
    return submission.id;
  };
  const claim = (token = newToken(), leaseMs = 60_000) =>
    claimRequest(connection.redis, { namespace, deployment, token, leaseMs, pod: 'pod-1' });
  const cancel = (id: string, token = newToken()) =>
    cancelRequest(connection.redis, { namespace, id, token });
  const read = async (id: string) => (await readRequest(connection.redis, namespace, id))!;
  const events = () => takeEvents(connection.redis, namespace, { limit: 100, leaseMs: 60_000 });
  const dueObjects = () => takeDueObjects(connection.redis, namespace, { limit: 100, leaseMs: 60_000 });
  const object = (key: string): StoredObject => ({ credential: null, key });

  before(async () => {
    server = await startRedis();
    connection = await connectTo(server);
    await loadLibrary(connection.redis);
  });
  beforeEach(async () => {
    namespace = `space-${++workspaces}`;
    await publishMedia(connection.redis, { namespace, name: deployment });
  });
  after(async () => {
    await connection?.close();
    await server?.stop();
  });

  describe('claim', () => {
    it('hands out the parameters and makes the request running, with its start and the whole time left', async () => {
      const id = await submit({ params: '{"prompt":"a dog"}' });
      const token = newToken();
      const job = (await claim(token))!;
      expect(job).to.deep.include({ attempt: 1, params: '{"prompt":"a dog"}' });
      expect(job.claim).to.deep.equal({ namespace, id, token });
      expect(job.remainingMs).to.equal(30 * 60_000);
      const record = await read(id);
      expect(record.status).to.equal('running');
      expect(record.startedAt).to.be.at.least(record.queuedAt);
    });

    it('answers null when nothing waits', async () => {
      expect(await claim()).to.equal(null);
    });

    it('answers a repeat with the same token with the same job, and takes no other', async () => {
      await submit();
      const second = await submit();
      const token = newToken();
      const job = await claim(token);
      const repeat = await claim(token);
      expect(repeat?.claim).to.deep.equal(job?.claim);
      expect(repeat?.attempt).to.equal(1);
      expect((await read(second)).status).to.equal('queued');
    });

    it('gives a late repeat nothing once its claim is over', async () => {
      await submit();
      const token = newToken();
      await finishRequest(connection.redis, (await claim(token))!.claim, success());
      const next = await submit();
      expect(await claim(token)).to.equal(null);
      expect((await read(next)).status).to.equal('queued');
    });

    it('gives each API key its turn, and within one the oldest first', async () => {
      const sha256 = { a: 'a'.repeat(64), b: 'b'.repeat(64), c: 'c'.repeat(64) };
      const names = new Map<string, string>();
      for (const name of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) {
        names.set(await submit({ sha256: sha256[name[0] as 'a'] }), name);
      }
      const order = [];
      for (let i = 0; i < 6; i++) order.push(names.get((await claim())!.claim.id));
      expect(order).to.deep.equal(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
    });

    it('starts nothing for a deployment that is being deleted', async () => {
      await submit();
      await publishMedia(connection.redis, { namespace, name: deployment, deleting: true });
      expect(await claim()).to.equal(null);
    });
  });

  describe('renewal', () => {
    it('notes progress that only grows and ends at 99', async () => {
      const id = await submit();
      const job = (await claim())!;
      const seen = [];
      for (const progress of [10, 5, 40.9, 39, 250, 7]) {
        await renewClaim(connection.redis, job.claim, { progress });
        seen.push((await read(id)).progress);
      }
      expect(seen).to.deep.equal([10, 10, 40, 40, 99, 99]);
    });

    it('is refused to another token, and once the request has ended', async () => {
      await submit();
      const { claim: held } = (await claim())!;
      expect(await renewClaim(connection.redis, { ...held, token: newToken() })).to.equal('stale');
      expect(await renewClaim(connection.redis, held)).to.equal('renewed');
      await finishRequest(connection.redis, held, success());
      expect(await renewClaim(connection.redis, held)).to.equal('stale');
    });

    it('is refused past the deadline', async () => {
      await publishMedia(connection.redis, { namespace, name: deployment, limits: { videoTimeoutMs: 20 } });
      await submit();
      const { claim: held } = (await claim())!;
      await passTime(connection.redis, 20);
      expect(await renewClaim(connection.redis, held)).to.equal('deadline');
    });
  });

  describe('finish', () => {
    it('keeps where the files are, drops the prompt and writes request.completed', async () => {
      const id = await submit({ webhookUrl: 'https://example.com/hook' });
      const job = (await claim())!;
      expect(await connection.redis.exists(`w:{${namespace}}:params:${id}`)).to.equal(1);
      expect(await finishRequest(connection.redis, job.claim, success())).to.equal('done');
      const record = await read(id);
      expect(record).to.deep.include({ status: 'succeeded', output: outputOf('results/one.mp4') });
      expect(record.completedAt).to.be.at.least(record.startedAt!);
      expect(await connection.redis.exists(`w:{${namespace}}:params:${id}`)).to.equal(0);

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
          namespace_name: namespace,
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
      await finishRequest(connection.redis, (await claim())!.claim, outcome);
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
      await finishRequest(connection.redis, held, success());
      const record = await read(id);
      expect(await finishRequest(connection.redis, held, failure())).to.equal('already_done_by_you');
      expect(await read(id)).to.deep.equal(record);
      expect(await connection.redis.get(`w:{${namespace}}:credit`)).to.equal('7');
      expect(await events()).to.have.length(1);
    });

    it('answers stale to every other token and to an unknown request', async () => {
      const id = await submit();
      expect(await finishRequest(connection.redis, { namespace, id, token: '' }, success())).to.equal(
        'stale',
      );
      const { claim: held } = (await claim())!;
      const stranger = { ...held, token: newToken() };
      expect(await finishRequest(connection.redis, stranger, success())).to.equal('stale');
      const unknown = { ...held, id: newRequestId() };
      expect(await finishRequest(connection.redis, unknown, success())).to.equal('stale');
      expect((await read(id)).status).to.equal('running');
      await releaseRequest(connection.redis, held);
      const nobody = { ...held, token: '' };
      expect(await finishRequest(connection.redis, nobody, success())).to.equal('stale');
      expect(await renewClaim(connection.redis, nobody)).to.equal('stale');
    });

    it('comes too late past the deadline: the request has timed out, and the worker is stale', async () => {
      await publishMedia(connection.redis, { namespace, name: deployment, limits: { videoTimeoutMs: 20 } });
      const id = await submit({ priceMicros: 7 });
      const { claim: held } = (await claim())!;
      await passTime(connection.redis, 20);
      for (let i = 0; i < 2; i++) {
        expect(await finishRequest(connection.redis, held, success())).to.equal('stale');
      }
      expect(await read(id)).to.include({ status: 'failed', errorCode: 'model_timeout' });
      expect(await connection.redis.get(`w:{${namespace}}:credit`)).to.equal('0');
      expect(await events()).to.have.length(1);
    });

    it('replaces a payload that would make the event larger than 64 KiB', async () => {
      for (const [length, truncated] of [
        [64_000, false],
        [65_536, true],
      ] as const) {
        await submit();
        const payload = { text: 'x'.repeat(length) };
        await finishRequest(connection.redis, (await claim())!.claim, { ...success(), payload });
        const [event] = await events();
        expect(event!.body.length).to.be.at.most(65_536);
        const { result_payload: result } = JSON.parse(event!.body).data;
        expect(result).to.deep.equal(truncated ? { _truncated: true } : payload);
        await removeEvents(connection.redis, namespace, [event!.id]);
      }
    });
  });

  describe('release', () => {
    it('puts the request before all others without counting an attempt; outside it stays running', async () => {
      const id = await submit();
      await submit();
      const first = (await claim())!;
      const { startedAt } = await read(id);
      expect(await releaseRequest(connection.redis, first.claim)).to.equal(true);
      expect(await releaseRequest(connection.redis, first.claim), 'a repeat').to.equal(false);
      expect(await read(id)).to.deep.include({ status: 'running', startedAt });
      expect((await cancel(id)).verdict).to.equal('not_cancellable');
      expect(await finishRequest(connection.redis, first.claim, success())).to.equal('stale');

      await passTime(connection.redis, 2);
      const second = (await claim())!;
      expect(second.claim.id).to.equal(id);
      expect(second.attempt).to.equal(1);
      expect(second.remainingMs, 'the deadline stays').to.be.below(first.remainingMs);
    });
  });

  describe('cancel', () => {
    it('ends a queued request with request.canceled, and no worker gets it', async () => {
      const id = await submit();
      const answer = await cancel(id);
      expect(answer).to.deep.include({ verdict: 'canceled', record: await read(id) });
      expect(await read(id)).to.include({ status: 'canceled', startedAt: null });
      expect(await claim()).to.equal(null);
      const [event] = await events();
      expect(JSON.parse(event!.body)).to.deep.include({ type: 'request.canceled' });
      expect(JSON.parse(event!.body).data).to.deep.include({ status: 'canceled', error_code: null });
    });

    it('is answered alike when repeated with the same token, and refused with another', async () => {
      const id = await submit();
      const token = newToken();
      expect((await cancel(id, token)).verdict).to.equal('canceled');
      expect((await cancel(id, token)).verdict).to.equal('canceled');
      expect((await cancel(id)).verdict).to.equal('not_cancellable');
      expect(await events()).to.have.length(1);
    });

    it('is refused with the record while it runs and after, and unknown of an unknown id', async () => {
      const id = await submit();
      const { claim: held } = (await claim())!;
      expect(await cancel(id)).to.deep.equal({ verdict: 'not_cancellable', record: await read(id) });
      await finishRequest(connection.redis, held, success());
      expect(await cancel(id)).to.deep.equal({ verdict: 'not_cancellable', record: await read(id) });
      expect(await cancel(newRequestId())).to.deep.equal({ verdict: 'unknown' });
    });

    it('of a key’s only request does not take the turn of the next', async () => {
      const first = await submit({ sha256: 'a'.repeat(64) });
      const second = await submit({ sha256: 'b'.repeat(64) });
      await cancel(first);
      expect((await claim())?.claim.id).to.equal(second);
      expect(await claim()).to.equal(null);
    });
  });

  describe('stored objects', () => {
    it('come up when they are due, and again unless they were said to be removed', async () => {
      const { redis } = connection;
      await registerObjects(redis, namespace, { objects: [object('soon'), object('too')], removeInMs: 5 });
      await registerObjects(redis, namespace, { objects: [object('late')], removeInMs: 60_000 });
      expect(await dueObjects()).to.deep.equal([]);
      await passTime(redis, 5);
      const due = await takeDueObjects(redis, namespace, { limit: 10, leaseMs: 5 });
      expect(due).to.have.deep.members([object('soon'), object('too')]);
      expect(await dueObjects(), 'under the lease').to.deep.equal([]);
      await passTime(redis, 5);
      expect(await takeDueObjects(redis, namespace, { limit: 1, leaseMs: 5 })).to.have.length(1);
      await forgetObjects(redis, namespace, [object('soon'), object('too')]);
      await passTime(redis, 5);
      expect(await dueObjects()).to.deep.equal([]);
    });

    it('of an input belong to the request once it is accepted, and are due when it ends', async () => {
      const { redis } = connection;
      const inputs = [object('inputs/1'), object('inputs/2')];
      for (const end of ['finish', 'cancel']) {
        await registerObjects(redis, namespace, { objects: inputs, removeInMs: 0 });
        const id = await submit({ inputs });
        expect(await dueObjects(), 'while it waits').to.deep.equal([]);
        if (end === 'cancel') await cancel(id);
        else await finishRequest(redis, (await claim())!.claim, failure());
        expect(await dueObjects()).to.have.deep.members(inputs);
      }
    });

    it('of a result are kept until their retention ends, or for ever', async () => {
      const { redis } = connection;
      await submit();
      const { claim: held } = (await claim())!;
      const [kept, managed] = [{ credential: 'mine', key: 'kept' }, object('managed')];
      await registerObjects(redis, namespace, { objects: [kept, managed], removeInMs: 0 });
      const fates = [
        { object: kept, removeInMs: null },
        { object: managed, removeInMs: 10 },
      ];
      await finishRequest(redis, held, success(fates));
      expect(await dueObjects()).to.deep.equal([]);
      await passTime(redis, 10);
      expect(await dueObjects()).to.deep.equal([managed]);
    });
  });

  describe('the outbox', () => {
    it('gives events under a lease, oldest first, until they are removed', async () => {
      const ids = [];
      for (let i = 0; i < 3; i++) {
        ids.push(await submit());
        await cancel(ids[i]!);
        await passTime(connection.redis, 1);
      }
      const take = (limit: number, leaseMs: number) =>
        takeEvents(connection.redis, namespace, { limit, leaseMs });
      const first = await take(2, 5);
      expect(first.map(({ requestId }) => requestId)).to.deep.equal(ids.slice(0, 2));
      await removeEvents(connection.redis, namespace, [first[0]!.id]);
      await passTime(connection.redis, 5);
      const left = await take(10, 60_000);
      expect(left.map(({ requestId }) => requestId)).to.have.members(ids.slice(1));
      await removeEvents(
        connection.redis,
        namespace,
        left.map(({ id }) => id),
      );
      expect(await connection.redis.keys(`w:{${namespace}}:event:*`)).to.deep.equal([]);
    });

    it('drops rows that are no events, and gives the others', async () => {
      const { redis } = connection;
      const id = await submit();
      await cancel(id);
      await redis.zadd(`w:{${namespace}}:outbox`, '0', 'evt_gone', '0', 'evt_odd');
      await redis.set(`w:{${namespace}}:event:evt_odd`, 'odd');
      expect((await events()).map(({ requestId }) => requestId)).to.deep.equal([id]);
      expect(await redis.zrange(`w:{${namespace}}:outbox`, '0', '-1')).to.deep.equal([deriveEventId(id)]);
    });
  });
});
