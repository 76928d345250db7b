import { expect } from 'chai';
import { finishRequest, releaseRequest, renewClaim } from '../../../redis/requests/request-calls.ts';
import { useMediaWorkspace } from '../../support/media-workspace.ts';
import { newRequestId, newToken, passTime, publishMedia, success } from '../../support/request-fixture.ts';

describe('the life of a request', () => {
  const space = useMediaWorkspace();
  const { deployment, claim, cancel, read, events, submitted: submit } = space;

  describe('claim', () => {
    it('hands out the parameters and makes the request running, with its start and the whole time left', async () => {
      const id = await submit({ params: '{"prompt":"a dog"}' });
      const token = newToken();
      const job = (await claim(token))!;
      expect(job).to.deep.include({ attempt: 1, params: '{"prompt":"a dog"}' });
      expect(job.claim).to.deep.equal({ namespace: space.namespace, id, token });
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
      await finishRequest(space.redis, (await claim(token))!.claim, success());
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
      await publishMedia(space.redis, { namespace: space.namespace, name: deployment, deleting: true });
      expect(await claim()).to.equal(null);
    });
  });

  describe('renewal', () => {
    it('notes progress that only grows and ends at 99', async () => {
      const id = await submit();
      const job = (await claim())!;
      const seen = [];
      for (const progress of [10, 5, 40.9, 39, 250, 7]) {
        await renewClaim(space.redis, job.claim, { progress });
        seen.push((await read(id)).progress);
      }
      expect(seen).to.deep.equal([10, 10, 40, 40, 99, 99]);
    });

    it('is refused to another token, and once the request has ended', async () => {
      await submit();
      const { claim: held } = (await claim())!;
      expect(await renewClaim(space.redis, { ...held, token: newToken() })).to.equal('stale');
      expect(await renewClaim(space.redis, held)).to.equal('renewed');
      await finishRequest(space.redis, held, success());
      expect(await renewClaim(space.redis, held)).to.equal('stale');
    });

    it('is refused past the deadline', async () => {
      await publishMedia(space.redis, {
        namespace: space.namespace,
        name: deployment,
        limits: { videoTimeoutMs: 20 },
      });
      await submit();
      const { claim: held } = (await claim())!;
      await passTime(space.redis, 20);
      expect(await renewClaim(space.redis, held)).to.equal('deadline');
    });
  });

  describe('release', () => {
    it('puts the request before all others without counting an attempt; outside it stays running', async () => {
      const id = await submit();
      await submit();
      const first = (await claim())!;
      const { startedAt } = await read(id);
      expect(await releaseRequest(space.redis, first.claim)).to.equal(true);
      expect(await releaseRequest(space.redis, first.claim), 'a repeat').to.equal(false);
      expect(await read(id)).to.deep.include({ status: 'running', startedAt });
      expect((await cancel(id)).verdict).to.equal('not_cancellable');
      expect(await finishRequest(space.redis, first.claim, success())).to.equal('stale');

      await passTime(space.redis, 2);
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
      await finishRequest(space.redis, held, success());
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
});
