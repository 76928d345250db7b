import { expect } from 'chai';
import type { Acquisition, Caller, EngineTarget, Refusal } from '../../../../gateway/capacity/capacity.ts';
import { Slots } from '../../../../gateway/capacity/replica-capacity.ts';
import { MAX_WAITING, SlotLine, SlotQueue } from '../../../../gateway/capacity/slot-queue.ts';
import { pollUntil } from '../../../support/poll.ts';

describe('the line for a place on an engine', () => {
  const never = new AbortController().signal;
  const caller = (id: string, priority = 0): Caller => ({ id, priority });
  const isTarget = (acquisition: Acquisition) => 'target' in acquisition;

  function build({ waitMs = 60_000, isShared = false, limit = 1 } = {}) {
    const slots = new Slots(() => limit);
    const takeLocal = (): EngineTarget | null => {
      const release = slots.take();
      return release && { origin: '', pathPrefix: '', headers: {}, local: true, release };
    };
    let peer: EngineTarget | null = null;
    let places = 0;
    let refusal: Refusal = 'replica_saturated';
    const capacity = {
      acquire: () => {
        const target = takeLocal();
        if (target) return { target };
        const given = peer;
        if (--places <= 0) peer = null;
        return Promise.resolve(given ? { target: given } : { refusal });
      },
      acquireElsewhere: () => ({ refusal }),
    };
    const line = new SlotQueue({ capacity, takeLocal, waitMs: () => waitMs, isShared: () => isShared });
    slots.onCrossing(() => line.serve());
    return {
      slots,
      line,
      offerPeer: (release: () => void, count = 1) => {
        peer = { origin: 'peer', pathPrefix: '', headers: {}, local: false, release };
        places = count;
      },
      refuse: (why: Refusal) => {
        refusal = why;
      },
    };
  }

  it('gives the place on to who waits, one API key after the other', async () => {
    const { slots, line } = build();
    const release = slots.take()!;
    const order: string[] = [];
    const ask = async (id: string, name: string) => {
      const acquisition = await line.acquire(never, caller(id));
      order.push(name);
      if ('target' in acquisition) acquisition.target.release();
    };
    const all = [ask('a', 'a1')];
    await pollUntil(() => line.waiting === 1, 'the first waits');
    all.push(ask('a', 'a2'), ask('a', 'a3'), ask('b', 'b1'));
    await pollUntil(() => line.waiting === 4, 'all wait');
    release();
    await Promise.all(all);
    expect(order).to.deep.equal(['a1', 'b1', 'a2', 'a3']);
    expect([line.waiting, slots.inflight]).to.deep.equal([0, 0]);
  });

  it('refuses after the wait, at once where there is none, and who comes when too many wait', async () => {
    const brief = build({ waitMs: 20 });
    brief.slots.take();
    expect(await brief.line.acquire(never)).to.deep.equal({ refusal: 'replica_saturated' });
    const none = build({ waitMs: 0 });
    none.slots.take();
    expect(await none.line.acquire(never)).to.deep.equal({ refusal: 'replica_saturated' });
    const { slots, line } = build();
    const release = slots.take()!;
    const leaving = new AbortController();
    const waiting = Array.from({ length: MAX_WAITING }, () => line.acquire(leaving.signal));
    await pollUntil(() => line.waiting === MAX_WAITING, 'all wait');
    expect(await line.acquire(never)).to.deep.equal({ refusal: 'replica_saturated' });
    leaving.abort();
    expect((await Promise.all(waiting)).some(isTarget)).to.equal(false);
    release();
    expect([line.waiting, slots.inflight]).to.deep.equal([0, 0]);
  });

  it('keeps room for each API key where another fills the line', async () => {
    const { slots, line } = build();
    const release = slots.take()!;
    const leaving = new AbortController();
    const greedy = Array.from({ length: MAX_WAITING }, () => line.acquire(leaving.signal, caller('greedy')));
    await pollUntil(() => line.waiting === MAX_WAITING, 'all wait');
    const other = line.acquire(never, caller('other'));
    expect(other).to.be.instanceOf(Promise);
    expect(await greedy.at(-1)).to.deep.equal({ refusal: 'replica_saturated' });
    expect(line.waiting).to.equal(MAX_WAITING);
    expect(await line.acquire(never, caller('greedy'))).to.deep.equal({ refusal: 'replica_saturated' });
    leaving.abort();
    await Promise.all(greedy);
    release();
    expect(isTarget(await other)).to.equal(true);
  });

  it('gives the place on to higher priorities first, and every fourth place to the others', async () => {
    const { slots, line } = build();
    const release = slots.take()!;
    const order: string[] = [];
    const ask = async (id: string, priority: number) => {
      const acquisition = await line.acquire(never, caller(id, priority));
      order.push(id);
      if ('target' in acquisition) acquisition.target.release();
    };
    const all = [ask('low', -1)];
    await pollUntil(() => line.waiting === 1, 'the first waits');
    all.push(ask('low', -1), ask('normal', 0));
    for (let count = 0; count < 5; count++) all.push(ask('high', 10));
    release();
    await Promise.all(all);
    expect(order).to.deep.equal(['high', 'high', 'high', 'low', 'high', 'high', 'normal', 'low']);
  });

  it('makes room in a full line for a higher priority, for a lower one only by the share of each key', async () => {
    const { slots, line } = build();
    slots.take();
    const leaving = new AbortController();
    const fill = (id: string, priority: number, count: number) =>
      Array.from({ length: count }, () => line.acquire(leaving.signal, caller(id, priority)));
    const low = fill('low', -1, 1);
    await pollUntil(() => line.waiting === 1, 'the first waits');
    const normal = fill('normal', 0, MAX_WAITING - 1);
    const high = fill('high', 1, 1);
    expect(await low[0]).to.deep.equal({ refusal: 'replica_saturated' });
    const later = fill('low', -1, 1);
    expect(await normal.at(-1)).to.deep.equal({ refusal: 'replica_saturated' });
    expect(line.waiting).to.equal(MAX_WAITING);
    leaving.abort();
    await Promise.all([...normal, ...high, ...later]);
  });

  it('takes a place that a peer has meanwhile', async () => {
    const { slots, line, offerPeer } = build();
    slots.take();
    const asked = line.acquire(never);
    await pollUntil(() => line.waiting === 1, 'it waits');
    offerPeer(() => {});
    expect(await asked).to.have.nested.property('target.origin', 'peer');
    expect(line.waiting).to.equal(0);
  });

  it('takes all places that a peer has meanwhile, at once', async () => {
    const { slots, line, offerPeer } = build();
    slots.take();
    const asked = Array.from({ length: 50 }, () => line.acquire(AbortSignal.timeout(5_000)));
    await pollUntil(() => line.waiting === 50, 'all wait');
    offerPeer(() => {}, 50);
    expect((await Promise.all(asked)).every(isTarget)).to.equal(true);
  });

  it('says to who waits that no replica is ready any more', async () => {
    const { slots, line, refuse } = build();
    slots.take();
    const asked = [line.acquire(never, caller('a')), line.acquire(never, caller('b'))];
    await pollUntil(() => line.waiting === 2, 'both wait');
    refuse('no_pod_available');
    const refused = { refusal: 'no_pod_available' };
    expect(await Promise.all(asked)).to.deep.equal([refused, refused]);
    expect(line.waiting).to.equal(0);
    expect(await line.acquire(never)).to.deep.equal(refused);
  });

  it('leaves every other place to the queue, if it takes it', async () => {
    const { slots, line } = build({ isShared: true });
    const first = slots.take()!;
    const [one, other] = [line.acquire(never), line.acquire(never)];
    await pollUntil(() => line.waiting === 2, 'both wait');
    first();
    const acquisition = (await one) as { target: EngineTarget };
    acquisition.target.release();
    const job = slots.take();
    expect(job, 'the queue had its turn').not.to.equal(null);
    job!();
    expect(isTarget(await other)).to.equal(true);
  });

  describe('of an engine with two endpoints', () => {
    function buildTwo() {
      const slots = new Slots(() => 1);
      const line = new SlotLine();
      const takeLocal = (): EngineTarget | null => {
        const release = slots.take();
        return release && { origin: '', pathPrefix: '', headers: {}, local: true, release };
      };
      const open = { base: true, adapter: true };
      const build = (name: keyof typeof open) => {
        const isOpen = () => open[name];
        const acquire = (): Acquisition | Promise<Acquisition> => {
          const target = isOpen() ? takeLocal() : null;
          return target ? { target } : Promise.resolve({ refusal: 'replica_saturated' });
        };
        return new SlotQueue({
          capacity: { acquire, acquireElsewhere: acquire },
          takeLocal: () => (isOpen() ? takeLocal() : null),
          waitMs: () => 60_000,
          isShared: () => false,
          line,
          isOpen,
        });
      };
      const [base, adapter] = [build('base'), build('adapter')];
      slots.onCrossing(() => base.serve());
      return { slots, base, adapter, open };
    }

    it('gives the place on in turn, whatever the endpoint: neither starves the other', async () => {
      const { slots, base, adapter } = buildTwo();
      const release = slots.take()!;
      const order: string[] = [];
      const ask = async (queue: SlotQueue, id: string) => {
        const acquisition = await queue.acquire(never, caller(id));
        order.push(id);
        if ('target' in acquisition) acquisition.target.release();
      };
      const all = [1, 2, 3].map(() => ask(base, 'base'));
      await pollUntil(() => base.waiting === 3, 'three wait');
      all.push(ask(adapter, 'adapter'));
      await pollUntil(() => adapter.waiting === 1, 'one more waits');
      release();
      await Promise.all(all);
      expect(order).to.deep.equal(['base', 'adapter', 'base', 'base']);
      expect([base.waiting, adapter.waiting, slots.inflight]).to.deep.equal([0, 0, 0]);
    });

    it('passes over those whose endpoint is not open', async () => {
      const { slots, base, adapter, open } = buildTwo();
      const release = slots.take()!;
      const leaving = new AbortController();
      const closed = adapter.acquire(leaving.signal, caller('adapter'));
      await pollUntil(() => adapter.waiting === 1, 'one waits');
      const other = base.acquire(never, caller('base'));
      await pollUntil(() => base.waiting === 1, 'both wait');
      open.adapter = false;
      release();
      expect(isTarget(await other)).to.equal(true);
      expect(adapter.waiting).to.equal(1);
      leaving.abort();
      expect(isTarget(await closed)).to.equal(false);
    });
  });
});
