import { expect } from 'chai';
import { removeDeployment } from '../../../redis/publication/publication.ts';
import { takeDueObjects } from '../../../redis/requests/object-cleanup.ts';
import {
  cancelRequest,
  finishRequest,
  releaseRequest,
  renewClaim,
} from '../../../redis/requests/request-calls.ts';
import { listRequests } from '../../../redis/requests/request-record.ts';
import { type SweepResult, sweepRequests } from '../../../redis/requests/request-sweep.ts';
import { useMediaWorkspace } from '../../support/media-workspace.ts';
import { newToken, passTime, publishMedia, success } from '../../support/request-fixture.ts';

/** Long enough for what must happen before it is over, on a busy machine too. */
const SOON_MS = 1_500;

describe('the sweep', () => {
  const space = useMediaWorkspace();
  const { deployment, claim, read, events, spent, publish, submitted: submit } = space;
  const sweep = ({
    mayExpire = true,
    ...options
  }: {
    mayExpire?: boolean;
    limit?: number;
  } = {}): Promise<SweepResult> =>
    sweepRequests(space.redis, space.namespace, {
      expireUntil: mayExpire ? Number.MAX_SAFE_INTEGER : 0,
      ...options,
    });
  const NOTHING: SweepResult = { ended: 0, released: 0, forgotten: 0, more: false };

  it('leaves alone what is not due', async () => {
    await submit();
    await submit();
    await claim(newToken(), 60_000);
    expect(await sweep()).to.deep.equal(NOTHING);
  });

  it('gives a lost worker’s request to the next before all others, unseen from outside', async () => {
    const id = await submit();
    await submit();
    const first = (await claim(newToken(), 5))!;
    const before = await read(id);
    await passTime(space.redis, 5);
    expect(await sweep()).to.deep.equal({ ...NOTHING, released: 1 });
    expect(await sweep(), 'a second sweeper').to.deep.equal(NOTHING);
    expect(await read(id)).to.deep.equal(before);
    const answer = await cancelRequest(space.redis, { namespace: space.namespace, id, token: newToken() });
    expect(answer.verdict).to.equal('not_cancellable');

    const second = (await claim(newToken(), 60_000))!;
    expect(second.claim.id).to.equal(id);
    expect(second.attempt).to.equal(2);
    expect(second.params).to.equal(first.params);
    expect(await renewClaim(space.redis, first.claim)).to.equal('stale');
    expect(await finishRequest(space.redis, first.claim, success())).to.equal('stale');
    expect(await finishRequest(space.redis, second.claim, success())).to.equal('done');
    expect((await read(id)).startedAt).to.equal(before.startedAt);
    expect(await events()).to.have.length(1);
  });

  it('fails a request as worker_lost when its second worker is lost too, and gives the credit back', async () => {
    const id = await submit({ priceMicros: 9 });
    for (let attempt = 1; attempt <= 2; attempt++) {
      await claim(newToken(), 5);
      await passTime(space.redis, 5);
      await sweep();
    }
    expect(await read(id)).to.include({ status: 'failed', errorCode: 'worker_lost' });
    expect(await claim(newToken(), 5)).to.equal(null);
    expect((await events()).map(({ type }) => type)).to.deep.equal(['request.failed']);
    expect(await spent()).to.equal(0);
  });

  it('does not count a release as an attempt', async () => {
    const id = await submit();
    await releaseRequest(space.redis, (await claim(newToken(), 60_000))!.claim);
    await claim(newToken(), 5);
    await passTime(space.redis, 5);
    expect(await sweep()).to.include({ released: 1, ended: 0 });
    expect((await read(id)).status).to.equal('running');
  });

  it('finds alive a worker that renews a lease that ran out but was not swept', async () => {
    await submit();
    const job = (await claim(newToken(), 5))!;
    await passTime(space.redis, 5);
    expect(await renewClaim(space.redis, job.claim, { leaseMs: 60_000 })).to.equal('renewed');
    expect(await sweep()).to.deep.equal(NOTHING);
    expect(await finishRequest(space.redis, job.claim, success())).to.equal('done');
  });

  it('expires nothing while it may not', async () => {
    await submit();
    await submit();
    await claim(newToken(), 5);
    await publish({ queueTTLMs: 5 });
    await passTime(space.redis, 5);
    expect(await sweep({ mayExpire: false })).to.deep.equal(NOTHING);
    expect(await sweep()).to.deep.equal({ ...NOTHING, ended: 1, released: 1 });
  });

  it('expires nothing once the time is over until when it may', async () => {
    await submit();
    const { claim: held } = (await claim(newToken(), 5))!;
    await passTime(space.redis, 5);
    const [seconds] = await space.redis.time();
    const sweepUntil = (expireUntil: number) => sweepRequests(space.redis, space.namespace, { expireUntil });
    expect(await sweepUntil(Number(seconds) * 1000 - 1)).to.deep.equal(NOTHING);
    expect(await renewClaim(space.redis, held, { leaseMs: 5 })).to.equal('renewed');
    await passTime(space.redis, 5);
    expect(await sweepUntil(Number(seconds) * 1000 + 60_000)).to.deep.equal({ ...NOTHING, released: 1 });
    expect(await renewClaim(space.redis, held)).to.equal('stale');
  });

  it('ends as model_timeout what runs past the deadline, its worker alive or not', async () => {
    await publish({ videoTimeoutMs: SOON_MS });
    const id = await submit();
    const job = (await claim(newToken(), 60_000))!;
    expect(await renewClaim(space.redis, job.claim, { leaseMs: 60_000 })).to.equal('renewed');
    await passTime(space.redis, SOON_MS);
    expect(await sweep()).to.include({ ended: 1 });
    expect(await read(id)).to.include({ status: 'failed', errorCode: 'model_timeout' });
    expect(await finishRequest(space.redis, job.claim, success())).to.equal('stale');
  });

  it('keeps the first deadline for the second attempt, also while it waits for that', async () => {
    await publish({ videoTimeoutMs: SOON_MS });
    const [waiting, claimed] = [await submit(), await submit()];
    for (let i = 0; i < 2; i++) await claim(newToken(), 5);
    await passTime(space.redis, 5);
    expect(await sweep()).to.include({ released: 2 });
    await passTime(space.redis, SOON_MS);
    expect(await claim(newToken(), 60_000), 'both are past it').to.equal(null);
    expect(await sweep()).to.deep.equal(NOTHING);
    for (const id of [waiting, claimed]) {
      expect(await read(id)).to.include({ status: 'failed', errorCode: 'model_timeout' });
    }
    expect(await events()).to.have.length(2);
  });

  it('ends what waits for its second attempt at the deadline, without any worker', async () => {
    await publish({ videoTimeoutMs: SOON_MS });
    const id = await submit({ priceMicros: 3 });
    await releaseRequest(space.redis, (await claim(newToken(), 60_000))!.claim);
    await passTime(space.redis, SOON_MS);
    expect(await sweep()).to.include({ ended: 1 });
    expect(await read(id)).to.include({ status: 'failed', errorCode: 'model_timeout' });
    expect(await claim(newToken(), 5)).to.equal(null);
    expect(await spent(), 'given back once').to.equal(0);
  });

  it('fails as expired what waited for too long, and not what was claimed in time', async () => {
    await publish({ queueTTLMs: SOON_MS });
    const inputs = [{ credential: null, key: 'inputs/1' }];
    const [claimed, expired] = [await submit(), await submit({ inputs, priceMicros: 4 })];
    await claim(newToken(), 60_000);
    await passTime(space.redis, SOON_MS);
    expect(await sweep()).to.deep.equal({ ...NOTHING, ended: 1 });
    expect(await read(expired)).to.include({ status: 'failed', errorCode: 'expired', startedAt: null });
    expect((await read(claimed)).status).to.equal('running');
    expect(await claim(newToken(), 5)).to.equal(null);
    expect(await spent()).to.equal(0);
    const due = await takeDueObjects(space.redis, space.namespace, { limit: 5, leaseMs: 5 });
    expect(due).to.deep.equal(inputs);
  });

  for (const how of ['deleted', 'being deleted']) {
    it(`cancels what is queued for a deployment that is ${how}, in bounded steps`, async () => {
      const ids = [];
      for (let i = 0; i < 5; i++) ids.push(await submit({ priceMicros: 1 }));
      await publishMedia(space.redis, { namespace: space.namespace, name: 'other' });
      const other = await submit({ deployment: 'other' });
      const running = (await claim(newToken(), 60_000))!;
      if (how === 'deleted') await removeDeployment(space.redis, space.namespace, deployment);
      else await publishMedia(space.redis, { namespace: space.namespace, name: deployment, deleting: true });

      expect(await sweep({ mayExpire: false, limit: 3 })).to.include({ ended: 3, more: true });
      expect(await sweep({ mayExpire: false, limit: 3 })).to.include({ ended: 1, more: false });
      for (const id of ids.slice(1)) expect((await read(id)).status).to.equal('canceled');
      expect((await read(other)).status).to.equal('queued');
      expect((await events()).map(({ type }) => type)).to.deep.equal(Array(4).fill('request.canceled'));
      expect(await spent()).to.equal(1);
      expect(await finishRequest(space.redis, running.claim, success())).to.equal('done');
    });
  }

  it('does not wait for another worker of a deployment that is gone', async () => {
    const [released, lost] = [await submit(), await submit()];
    await releaseRequest(space.redis, (await claim(newToken(), 60_000))!.claim);
    const again = (await claim(newToken(), 60_000))!;
    expect(again.claim.id).to.equal(released);
    await claim(newToken(), 5);
    await releaseRequest(space.redis, again.claim);
    await removeDeployment(space.redis, space.namespace, deployment);
    await passTime(space.redis, 5);
    expect(await sweep()).to.include({ ended: 2 });
    for (const id of [released, lost]) {
      expect(await read(id)).to.include({ status: 'failed', errorCode: 'worker_lost' });
    }
  });

  it('visits every deployment in turn, however many there are', async () => {
    const names = Array.from({ length: 120 }, (_, i) => `film-${i}`);
    for (const name of names) {
      await publishMedia(space.redis, { namespace: space.namespace, name });
      await submit({ deployment: name });
    }
    for (const name of names) await removeDeployment(space.redis, space.namespace, name);
    let ended = 0;
    for (let i = 0; i < 4; i++) ended += (await sweep()).ended;
    expect(ended).to.equal(120);
  });

  it('forgets ended requests after their retention, completely', async () => {
    await publish({ recordRetentionMs: 10 });
    for (let i = 0; i < 3; i++) {
      await submit();
      await finishRequest(space.redis, (await claim(newToken(), 60_000))!.claim, success());
    }
    await publish({});
    const kept = await submit();
    await finishRequest(space.redis, (await claim(newToken(), 60_000))!.claim, success());
    await passTime(space.redis, 10);
    expect(await sweep({ mayExpire: false, limit: 2 })).to.include({ forgotten: 2, more: true });
    expect(await sweep({ mayExpire: false, limit: 2 })).to.include({ forgotten: 1, more: false });
    const left = await listRequests(space.redis, { namespace: space.namespace, deployment, limit: 10 });
    expect(left.map(({ id }) => id)).to.deep.equal([kept]);
    const keys = await space.redis.keys(`w:{${space.namespace}}:request:*`);
    expect(keys).to.deep.equal([`w:{${space.namespace}}:request:${kept}`]);
  });

  it('leaves no key behind of a deployment that is gone and whose records are forgotten', async () => {
    await publish({ recordRetentionMs: 5 });
    for (let i = 0; i < 3; i++) await submit();
    await finishRequest(space.redis, (await claim(newToken(), 60_000))!.claim, success());
    await publishMedia(space.redis, {
      namespace: space.namespace,
      name: deployment,
      deleting: true,
      limits: { recordRetentionMs: 5 },
    });
    await sweep();
    await removeDeployment(space.redis, space.namespace, deployment);
    await passTime(space.redis, 5);
    await sweep();
    const keys = (await space.redis.keys(`w:{${space.namespace}}:*`)).map((key) => key.split(':')[2]);
    expect(new Set(keys), 'markers expire, events wait for delivery').to.have.all.keys(
      'claimed',
      'event',
      'outbox',
    );
  });
});
