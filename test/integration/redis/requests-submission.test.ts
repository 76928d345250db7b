import { expect } from 'chai';
import { channels, workKeys } from '../../../api/redis-keys.ts';
import { digestIdempotencyKey, type REQUEST_STATUSES } from '../../../api/request.ts';
import { MAX_SEALED_PARAMS_LENGTH, sealParams } from '../../../api/sealed-request.ts';
import { loadLibrary } from '../../../redis/library.ts';
import { publishWorkspace } from '../../../redis/publication/publication.ts';
import {
  cancelRequest,
  claimRequest,
  finishRequest,
  type NewRequest,
  submitRequest,
} from '../../../redis/requests/request-calls.ts';
import {
  countWaiting,
  findEarlierRequest,
  listRequests,
  readRequest,
} from '../../../redis/requests/request-record.ts';
import { noteReplay } from '../../../redis/requests/request-replays.ts';
import { subscribe } from '../../../redis/subscription.ts';
import { useMediaWorkspace } from '../../support/media-workspace.ts';
import { pollUntil } from '../../support/poll.ts';
import { connectTo, fillMemory, rejection } from '../../support/redis-client.ts';
import { startRedis } from '../../support/redis-server.ts';
import {
  failure,
  newRequestId,
  newToken,
  passTime,
  publishMedia,
  submissionOf,
  success,
} from '../../support/request-fixture.ts';

describe('submission of a request', () => {
  const space = useMediaWorkspace({ maxQueued: 4 });
  const { deployment, submit, claim, spent, submitted } = space;
  const keyA = 'a'.repeat(64);
  const keyB = 'b'.repeat(64);

  it('makes a queued record with all that was given but the parameters', async () => {
    const [before] = await space.redis.time();
    const id = await submitted({ size: '720x1280', seconds: '5', webhookUrl: 'https://example.com/' });
    const record = (await readRequest(space.redis, space.namespace, id))!;
    const [seconds] = await space.redis.time();
    expect(record).to.deep.include({
      id,
      deployment,
      modality: 'video',
      status: 'queued',
      model: 'film',
      size: '720x1280',
      seconds: '5',
      progress: 0,
      startedAt: null,
      completedAt: null,
      output: null,
      errorCode: null,
      errorMessage: null,
    });
    expect(record.registrationId).to.be.above(0);
    expect(record.queuedAt / 1000).to.be.within(Number(before), Number(seconds) + 1);
    expect(await countWaiting(space.redis, space.namespace, deployment)).to.equal(1);
  });

  it('keeps who submitted it, for what price, and how many images', async () => {
    const { redis, namespace } = space;
    const image = await submitted({ sha256: keyA, keyName: 'shop', priceMicros: 40_000, images: 2 });
    expect((await readRequest(redis, namespace, image))?.charge).to.deep.equal({
      keyHash: 'a'.repeat(24),
      keyName: 'shop',
      micros: 40_000,
      images: 2,
    });
    const unnamed = { keyHash: 'a'.repeat(24), keyName: null, micros: 0, images: null };
    expect((await readRequest(redis, namespace, await submitted()))?.charge).to.deep.equal(unnamed);
    expect(await readRequest(redis, namespace, newRequestId())).to.equal(null);
  });

  it('reads no name of a submitter that is longer than a name', async () => {
    const id = await submitted();
    await space.redis.hset(workKeys(space.namespace).request(id), 'key_name', 'x'.repeat(254));
    expect((await readRequest(space.redis, space.namespace, id))?.charge).to.equal(null);
  });

  it('keeps a registration id of 15 digits exact', async () => {
    const record = (await readRequest(space.redis, space.namespace, await submitted()))!;
    const config = await space.redis.hget(`c:{${space.namespace}}:deployments`, deployment);
    expect(record.registrationId).to.equal(JSON.parse(config!).registrationId);
  });

  it('answers a repeat with the same id as it did at first, and makes nothing twice', async () => {
    const submission = submissionOf({ namespace: space.namespace, deployment, priceMicros: 5 });
    const first = await submitRequest(space.redis, submission);
    expect(await submitRequest(space.redis, submission)).to.deep.equal(first);
    expect(await countWaiting(space.redis, space.namespace, deployment)).to.equal(1);
    expect(await spent()).to.equal(5);
  });

  it('answers a repeated idempotency key with the first id and its present status', async () => {
    const scope = { sha256: keyA, deployment, modality: 'video' as const, header: 'order 7' };
    const idempotency = digestIdempotencyKey(scope);
    expect(await findEarlierRequest(space.redis, space.namespace, idempotency)).to.equal(null);
    const id = await submitted({ idempotency });
    expect(await submit({ idempotency })).to.include({ verdict: 'duplicate', id, status: 'queued' });
    const job = (await claim())!;
    expect(await submit({ idempotency })).to.include({ verdict: 'duplicate', id, status: 'running' });
    await finishRequest(space.redis, job.claim, failure());
    expect(await submit({ idempotency })).to.include({ verdict: 'duplicate', id, status: 'failed' });
    expect((await findEarlierRequest(space.redis, space.namespace, idempotency))?.record.id).to.equal(id);
    expect(
      await listRequests(space.redis, { namespace: space.namespace, deployment, limit: 10 }),
    ).to.have.length(1);
    const ttl = await space.redis.ttl(workKeys(space.namespace).idempotency(idempotency));
    expect(ttl).to.be.within(86_390, 86_400);
  });

  it('records in a request that it was asked for again, in any of its states', async () => {
    const id = await submitted({ idempotency: 'again' });
    const read = async () => (await readRequest(space.redis, space.namespace, id))!.replays;
    const note = (differing: string[]) =>
      noteReplay(space.redis, { namespace: space.namespace, id, differing });
    expect(await read()).to.equal(null);
    await note([]);
    expect(await read()).to.deep.include({ count: 1, differing: [] });
    await note(['prompt', 'image[2]']);
    await finishRequest(space.redis, (await claim())!.claim, failure());
    await note([]);
    const { count, lastAt, differing } = (await read())!;
    expect({ count, differing }).to.deep.equal({ count: 3, differing: ['prompt', 'image[2]'] });
    expect(lastAt).to.be.closeTo(Date.now(), 60_000);
    const unknown = `req_${'0'.repeat(32)}`;
    await noteReplay(space.redis, { namespace: space.namespace, id: unknown, differing: [] });
    expect(await space.redis.exists(workKeys(space.namespace).request(unknown))).to.equal(0);
  });

  it('makes one request of the same idempotency key sent by many at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => submit({ idempotency: 'same', priceMicros: 3 })),
    );
    const ids = new Set(answers.map((answer) => ('id' in answer ? answer.id : answer.verdict)));
    expect(ids.size).to.equal(1);
    expect(answers.filter(({ verdict }) => verdict === 'accepted')).to.have.length(1);
    expect(await spent()).to.equal(3);
  });

  it('refuses what is over the bound with queue_full, whose key is free to be used again', async () => {
    for (let i = 0; i < 4; i++) await submitted();
    expect(await submit({ idempotency: 'later' })).to.deep.equal({ verdict: 'queue_full' });
    await claim();
    expect(await submit({ idempotency: 'later' })).to.include({ verdict: 'accepted' });
  });

  it('lets one API key have half of the queue while others wait, and all of it alone', async () => {
    for (let i = 0; i < 2; i++) await submitted({ sha256: keyA });
    await submitted({ sha256: keyB });
    expect(await submit({ sha256: keyA })).to.deep.equal({ verdict: 'queue_full' });
    expect(await submit({ sha256: keyB })).to.include({ verdict: 'accepted' });
    await publishMedia(space.redis, { namespace: space.namespace, name: 'other', limits: { maxQueued: 4 } });
    for (let i = 0; i < 4; i++) {
      expect(await submit({ sha256: keyA, deployment: 'other' })).to.include({ verdict: 'accepted' });
    }
  });

  it('answers gone when the deployment is not published, or is being deleted', async () => {
    expect(await submit({ deployment: 'unknown' })).to.deep.equal({ verdict: 'gone' });
    await publishMedia(space.redis, { namespace: space.namespace, name: deployment, deleting: true });
    expect(await submit()).to.deep.equal({ verdict: 'gone' });
  });

  it('is rejected with the published reason, but still shows what was accepted before', async () => {
    const submission = submissionOf({
      namespace: space.namespace,
      deployment,
      idempotency: 'first',
      priceMicros: 5,
    });
    const accepted = await submitRequest(space.redis, submission);
    const reason = 'Redis does not persist data across restarts.';
    await publishWorkspace(space.redis, space.namespace, { asyncRefusal: reason });
    expect(await submit({ priceMicros: 5 })).to.deep.equal({ verdict: 'refused', reason });
    expect(await submitRequest(space.redis, submission)).to.deep.equal(accepted);
    expect(await submit({ idempotency: 'first' })).to.include({ verdict: 'duplicate', id: submission.id });
    expect(await spent()).to.equal(5);
    await publishWorkspace(space.redis, space.namespace, { asyncRefusal: null });
    expect(await submit()).to.include({ verdict: 'accepted' });
  });

  it('debits the price, refuses what credit does not cover, and gives back what did not succeed', async () => {
    await publishWorkspace(space.redis, space.namespace, { creditMicros: 100 });
    const first = await submitted({ priceMicros: 60 });
    expect(await submit({ priceMicros: 41 })).to.deep.equal({ verdict: 'credit' });
    await submitted({ priceMicros: 40 });
    expect(await submit({ priceMicros: 0 }), 'nothing is left').to.deep.equal({ verdict: 'credit' });
    expect(await spent()).to.equal(100);
    await cancelRequest(space.redis, { namespace: space.namespace, id: first, token: newToken() });
    expect(await spent()).to.equal(40);
    await finishRequest(space.redis, (await claim())!.claim, success());
    expect(await spent(), 'a success is paid').to.equal(40);
    await submitted({ priceMicros: 60 });
    await finishRequest(space.redis, (await claim())!.claim, failure());
    expect(await spent()).to.equal(40);
  });

  it('estimates by what waits, the slots and the measured pace', async () => {
    const estimate = async (fields: Partial<NewRequest>) => {
      const answer = await submit(fields);
      return 'estimatedSeconds' in answer ? answer.estimatedSeconds : answer.verdict;
    };
    await publishMedia(space.redis, { namespace: space.namespace, name: deployment });
    expect(await estimate({ expectedMs: 10_000 })).to.equal(10);
    expect(await estimate({ expectedMs: 10_000, slots: 2 })).to.equal(15);
    expect(await estimate({ expectedMs: 10_000, slots: 0 })).to.equal(30);
    const job = (await claim())!;
    await passTime(space.redis, 20);
    await finishRequest(space.redis, job.claim, success());
    // The pace is measured now: far less than 10 s a job, of which some wait.
    expect(await estimate({ expectedMs: 10_000 })).to.be.within(1, 9);
  });

  it('announces the first that waits to the deployment’s workers, on a channel of their own', async () => {
    const heard: string[] = [];
    let listening = false;
    const listener = subscribe(
      { url: space.server.url, name: 'worker', role: 'sidecar' },
      [channels.jobs(space.namespace, deployment)],
      {
        onMessage: (_, channel) => heard.push(channel),
        onResume: () => {
          listening = true;
        },
      },
    );
    await pollUntil(() => listening, 'the worker listens');
    await submitted();
    await pollUntil(() => heard.length === 1, 'the worker hears of it');
    await submitted();
    await claim();
    await claim();
    await submitted();
    await pollUntil(() => heard.length === 2, 'the worker hears of the next');
    await listener.close();
    expect(heard).to.deep.equal(Array(2).fill(channels.jobs(space.namespace, deployment)));
  });

  it('takes parameters of 4 KiB, sealed, and throws on more', async () => {
    const [id, key] = [newRequestId(), Buffer.alloc(32, 'key')];
    const params = sealParams('é'.repeat(2048), { namespace: space.namespace, id }, key);
    await submitted({ id, params });
    expect((await claim())?.params).to.equal(params);
    const longest = 'x'.repeat(MAX_SEALED_PARAMS_LENGTH);
    await submitted({ params: longest });
    expect((await claim())?.params).to.equal(longest);
    expect(await rejection(submit({ params: `${longest}x` }))).to.be.an.instanceOf(RangeError);
  });

  it('lists a deployment’s requests by status, newest first, up to the limit', async () => {
    await publishMedia(space.redis, {
      namespace: space.namespace,
      name: deployment,
      limits: { maxQueued: 300 },
    });
    await publishMedia(space.redis, { namespace: space.namespace, name: 'other' });
    const ids = [];
    for (let i = 0; i < 210; i++) ids.push(await submitted());
    await submitted({ deployment: 'other' });
    await finishRequest(space.redis, (await claim())!.claim, success());
    await finishRequest(space.redis, (await claim())!.claim, failure());
    await claim();
    await cancelRequest(space.redis, { namespace: space.namespace, id: ids[3]!, token: newToken() });
    const list = async (query: { status?: (typeof REQUEST_STATUSES)[number]; limit: number }) =>
      (await listRequests(space.redis, { namespace: space.namespace, deployment, ...query })).map(
        ({ id }) => id,
      );

    expect(await list({ limit: 200 })).to.deep.equal([...ids].reverse().slice(0, 200));
    expect(await list({ limit: 1 })).to.deep.equal([ids[209]]);
    expect(await list({ status: 'queued', limit: 3 })).to.deep.equal([ids[209], ids[208], ids[207]]);
    expect(await list({ status: 'queued', limit: 300 })).to.have.length(206);
    const expected = { succeeded: ids[0], failed: ids[1], running: ids[2], canceled: ids[3] };
    for (const [status, id] of Object.entries(expected)) {
      expect(await list({ status: status as keyof typeof expected, limit: 50 })).to.deep.equal([id]);
    }
  });

  it('goes on where it was when the last request of a page has left its status meanwhile', async () => {
    const { namespace } = space;
    await publishMedia(space.redis, { namespace, name: deployment, limits: { maxQueued: 20 } });
    const ids: string[] = [];
    for (let i = 0; i < 6; i++) ids.push(await submitted());
    const list = async (order: 'asc' | 'desc', after: string) =>
      (
        await listRequests(space.redis, {
          namespace,
          deployment,
          status: 'queued',
          limit: 2,
          order,
          after,
        })
      ).map(({ id }) => id);
    await cancelRequest(space.redis, { namespace, id: ids[3]!, token: newToken() });
    expect(await list('desc', ids[3]!)).to.deep.equal([ids[2], ids[1]]);
    expect(await list('asc', ids[3]!)).to.deep.equal([ids[4], ids[5]]);
    expect(await list('desc', ids[0]!)).to.deep.equal([]);
    expect(await list('desc', newRequestId())).to.deep.equal([]);
  });

  it('knows nothing of an unknown id', async () => {
    expect(await readRequest(space.redis, space.namespace, newRequestId())).to.equal(null);
  });

  it('is refused while memory is full, and running requests still end', async () => {
    const small = await startRedis();
    const admin = await connectTo(small);
    try {
      await loadLibrary(admin.redis);
      await publishMedia(admin.redis, { namespace: space.namespace, name: deployment });
      await submitRequest(admin.redis, submissionOf({ namespace: space.namespace, deployment }));
      await fillMemory(admin.redis);
      const error = await rejection(
        submitRequest(admin.redis, submissionOf({ namespace: space.namespace, deployment })),
      );
      expect(String(error)).to.include('OOM');
      const request = { namespace: space.namespace, deployment, token: newToken(), pod: 'pod-1' };
      const job = (await claimRequest(admin.redis, request))!;
      expect(await finishRequest(admin.redis, job.claim, success())).to.equal('done');
    } finally {
      await admin.close();
      await small.stop();
    }
  });
});
