import { expect } from 'chai';
import { sleep } from '../../../kit/clock.ts';
import { KubeApiError } from '../../../kube/api-error.ts';
import type { CallOptions } from '../../../kube/call.ts';
import { createLeaderLease, type LeaderLeaseOptions, type LeaseSpec } from '../../../kube/leader-lease.ts';
import type { KubeObject } from '../../../kube/object.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { broken } from './fake-api.ts';

type Lease = KubeObject & { spec: LeaseSpec };

/** A Lease as of an API server: a stale resource version is a conflict. */
class FakeLease {
  lease: Lease | undefined;
  down = false;
  /** Calls get no response, and time out. */
  silent = false;
  clock: FakeClock | undefined;
  calls = 0;
  #version = 0;

  hold(spec: LeaseSpec): void {
    const metadata = { name: 'leader', namespace: 'ns', resourceVersion: String(++this.#version) };
    this.lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec };
  }

  readonly client = {
    find: async (_: unknown, _at: unknown, call: CallOptions) =>
      this.#answer(call, () => structuredClone(this.lease)),
    create: async (_: unknown, object: KubeObject, call: CallOptions) =>
      this.#answer(call, () => {
        if (this.lease)
          throw new KubeApiError({ code: 409, reason: 'AlreadyExists', call: 'create' }, 'exists');
        this.hold(object.spec as LeaseSpec);
        return structuredClone(this.lease);
      }),
    update: async (_: unknown, object: KubeObject, call: CallOptions) =>
      this.#answer(call, () => {
        if (object.metadata.resourceVersion !== this.lease?.metadata.resourceVersion)
          throw new KubeApiError({ code: 409, reason: 'Conflict', call: 'update' }, 'changed');
        this.hold(object.spec as LeaseSpec);
        return structuredClone(this.lease);
      }),
  } as unknown as LeaderLeaseOptions['client'];

  async #answer<T>({ timeoutMs }: CallOptions, answer: () => T): Promise<T> {
    this.calls++;
    const { silent } = this;
    if (silent) await new Promise<void>((resolve) => this.clock!.after(timeoutMs!, resolve));
    if (silent || this.down) throw broken();
    return answer();
  }
}

describe('A leader lease', () => {
  let api: FakeLease;
  let clock: FakeClock;
  let lost: string[];
  beforeEach(() => {
    api = new FakeLease();
    clock = new FakeClock();
    api.clock = clock;
    lost = [];
  });

  const contend = (identity: string, options: Partial<LeaderLeaseOptions> = {}) =>
    createLeaderLease({
      client: api.client,
      namespace: 'ns',
      name: 'leader',
      identity,
      clock,
      random: () => 0,
      onLost: (reason) => lost.push(`${identity}: ${reason}`),
      ...options,
    });

  it('is made where there is none, with times of six digits, and renewed every two seconds', async () => {
    const lease = contend('a');
    expect(await lease.acquire()).to.equal(true);
    expect(api.lease!.spec).to.deep.equal({
      holderIdentity: 'a',
      leaseDurationSeconds: 15,
      acquireTime: '2026-01-01T00:00:00.000000Z',
      renewTime: '2026-01-01T00:00:00.000000Z',
      leaseTransitions: 0,
    });
    await clock.advance(2_000);
    expect(api.lease!.spec.renewTime).to.equal('2026-01-01T00:00:02.000000Z');
    expect(api.lease!.spec.acquireTime).to.equal('2026-01-01T00:00:00.000000Z');
    const calls = api.calls;
    await clock.advance(60_000);
    expect(api.calls - calls).to.equal(30);
    expect(lease.isLeading()).to.equal(true);
    await lease.release();
    expect(clock.pending).to.equal(0);
  });

  for (const [whose, renewTime] of [
    ['slow', '2020-01-01T00:00:00.000000Z'],
    ['fast', '2030-01-01T00:00:00.000000Z'],
  ])
    it(`is judged by the own clock where the holder's is ${whose}`, async () => {
      api.hold({ holderIdentity: 'b', leaseDurationSeconds: 15, renewTime });
      const lease = contend('a');
      const acquired = lease.acquire();
      await clock.advance(14_000);
      expect(api.lease!.spec.holderIdentity).to.equal('b');
      await clock.advance(2_000);
      expect(await acquired).to.equal(true);
      expect(api.lease!.spec).to.include({ holderIdentity: 'a', leaseTransitions: 1 });
      await lease.release();
    });

  it('is not taken while the holder renews, however long', async () => {
    const holder = contend('b');
    await holder.acquire();
    const lease = contend('a');
    const acquired = lease.acquire();
    await clock.advance(120_000);
    expect(api.lease!.spec.holderIdentity).to.equal('b');
    await holder.release();
    await clock.advance(2_000);
    expect(await acquired).to.equal(true);
    await lease.release();
  });

  for (const atMs of [100, 700, 1_900])
    it(`is taken half a second after its end at the latest, if the holder renewed it last after ${atMs} ms`, async () => {
      const renewed = {
        holderIdentity: 'b',
        leaseDurationSeconds: 15,
        renewTime: '2030-01-01T00:00:00.000000Z',
      };
      api.hold(renewed);
      const lease = contend('a');
      const acquired = lease.acquire();
      await clock.advance(atMs);
      api.hold(renewed);
      await clock.advance(14_999);
      expect(api.lease!.spec.holderIdentity).to.equal('b');
      await clock.advance(501);
      expect(api.lease!.spec.holderIdentity).to.equal('a');
      await acquired;
      await lease.release();
    });

  it('counts from when it was seen while who waits was not ready yet, and is not taken before', async () => {
    api.hold({ holderIdentity: 'b', leaseDurationSeconds: 15, renewTime: '2030-01-01T00:00:00.000000Z' });
    const lease = contend('a');
    let ready = () => {};
    const followed = lease.follow(new Promise<void>((resolve) => (ready = resolve)));
    await clock.advance(20_000);
    expect(api.lease!.spec.holderIdentity).to.equal('b');
    ready();
    await followed;
    expect(clock.pending).to.equal(0);
    expect(await lease.acquire()).to.equal(true);
    await lease.release();
  });

  it('is followed through an outage of the API server', async () => {
    api.down = true;
    const lease = contend('a');
    const followed = lease.follow(sleep(clock, 5_000));
    await clock.advance(5_000);
    await followed;
    api.down = false;
    expect(await lease.acquire()).to.equal(true);
    await lease.release();
  });

  it('survives an API server that is away for less than the renew deadline', async () => {
    const lease = contend('a');
    await lease.acquire();
    api.down = true;
    await clock.advance(7_000);
    api.down = false;
    await clock.advance(60_000);
    expect(lost).to.deep.equal([]);
    await lease.release();
  });

  it('survives a renewal that gets no answer: another is tried before the deadline', async () => {
    const lease = contend('a');
    await lease.acquire();
    await clock.advance(1_000);
    api.silent = true;
    await clock.advance(2_000);
    api.silent = false;
    await clock.advance(60_000);
    expect(lost).to.deep.equal([]);
    await lease.release();
  });

  it('is given up when it was not renewed in time, before anybody may take it', async () => {
    const lease = contend('a');
    await lease.acquire();
    api.down = true;
    await clock.advance(9_999);
    expect([lost, lease.isLeading()]).to.deep.equal([[], true]);
    await clock.advance(1);
    expect(lost).to.deep.equal(['a: not renewed within 10000 ms']);
    expect(lease.isLeading()).to.equal(false);
    await clock.advance(60_000);
    expect(lost).to.have.length(1);
    expect(clock.pending).to.equal(0);
  });

  it('is kept when only somebody’s annotation came in between', async () => {
    const lease = contend('a');
    await lease.acquire();
    api.hold({ ...api.lease!.spec });
    await clock.advance(30_000);
    expect(lost).to.deep.equal([]);
    expect(api.lease!.spec.renewTime).to.equal('2026-01-01T00:00:30.000000Z');
    await lease.release();
  });

  it('is taken by one only of two that see it free at the same moment', async () => {
    api.hold({ holderIdentity: '', leaseDurationSeconds: 1 });
    const leases = ['a', 'b'].map((identity) => contend(identity));
    const won: number[] = [];
    leases.forEach(async (lease, i) => {
      if (await lease.acquire()) won.push(i);
    });
    await settle();
    expect(won).to.have.length(1);
    await Promise.all(leases.map((lease) => lease.release()));
  });

  it('is waited for until the caller ends that', async () => {
    api.hold({ holderIdentity: 'b', leaseDurationSeconds: 15 });
    const stop = new AbortController();
    const acquired = contend('a').acquire(stop.signal);
    await clock.advance(5_000);
    stop.abort();
    expect(await acquired).to.equal(false);
    expect(clock.pending).to.equal(0);
  });

  it('refuses times that would let two lead', () => {
    expect(() => contend('a', { timing: { renewDeadlineMs: 15_000 } })).to.throw(
      'retryMs < renewDeadlineMs < durationMs',
    );
  });
});
