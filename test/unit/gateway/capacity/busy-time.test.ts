import { expect } from 'chai';
import { BusyTime } from '../../../../gateway/capacity/busy-time.ts';
import { Slots } from '../../../../gateway/capacity/replica-capacity.ts';
import { Reservations } from '../../../../gateway/capacity/reservations.ts';
import { SlotQueue } from '../../../../gateway/capacity/slot-queue.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';

describe('what a replica counts of its work', () => {
  let clock: FakeClock;
  let busy: BusyTime;
  beforeEach(() => {
    clock = new FakeClock();
    busy = new BusyTime(clock);
  });

  it('gives the exact average of any time from two readings, however many are lost between', async () => {
    const samples = [];
    let seed = 7;
    const random = (most: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      return seed % most;
    };
    const open: (() => void)[] = [];
    let integral = 0;
    for (let step = 0; step < 500; step++) {
      if (open.length > 0 && random(2) === 0) open.splice(random(open.length), 1)[0]!();
      else open.push(busy.enter());
      const ms = 1 + random(40);
      await clock.advance(ms);
      integral += open.length * ms;
      samples.push({ at: clock.now(), integral, busyMs: busy.read().busyMs });
    }
    for (const [from, to] of [
      [0, 499],
      [17, 18],
      [100, 450],
    ] as const) {
      const [first, last] = [samples[from]!, samples[to]!];
      expect(last.busyMs - first.busyMs).to.equal(last.integral - first.integral);
    }
  });

  it('counts a request that came and went between two readings', async () => {
    const before = busy.read();
    await clock.advance(300);
    const leave = busy.enter();
    await clock.advance(400);
    leave();
    leave();
    await clock.advance(300);
    const after = busy.read();
    expect([after.busyMs - before.busyMs, after.arrivals - before.arrivals]).to.deep.equal([400, 1]);
    expect(after.activeAt).to.equal(clock.date().getTime() - 300);
  });

  it('is not idle during work elsewhere, which is no load', async () => {
    const before = busy.read();
    const leave = busy.stay();
    await clock.advance(5_000);
    expect(busy.read()).to.deep.equal({ ...before, activeAt: clock.date().getTime() });
    leave();
    leave();
    await clock.advance(1_000);
    expect(busy.read()).to.deep.equal({ ...before, activeAt: clock.date().getTime() - 1_000 });
    expect(busy.level).to.equal(0);
  });

  it('does not change while nothing happens, and restarts under another name', async () => {
    const words = JSON.stringify(busy.read());
    await clock.advance(3_600_000);
    expect(JSON.stringify(busy.read())).to.equal(words);
    expect(new BusyTime(clock).read().boot).not.to.equal(busy.read().boot);
  });

  it('is active at this moment while something runs', async () => {
    busy.enter();
    await clock.advance(90_000);
    expect(busy.read().activeAt).to.equal(clock.date().getTime());
  });

  it('includes who waits for a slot, and no promise or look that came to nothing', async () => {
    const slots = new Slots(() => 1, busy);
    const takeLocal = () => {
      const release = slots.take();
      return release && { origin: '', pathPrefix: '', headers: {}, local: true, release };
    };
    const acquire = () => {
      const target = takeLocal();
      return target ? { target } : Promise.resolve({ refusal: 'replica_saturated' as const });
    };
    const line = new SlotQueue({
      capacity: { acquire, acquireElsewhere: acquire },
      takeLocal,
      waitMs: () => 60_000,
      isShared: () => false,
      busy,
    });
    slots.onCrossing(() => line.serve());
    const first = slots.take()!;
    const waiting = line.acquire(new AbortController().signal);
    await settle();
    expect(busy.level).to.equal(2);
    await clock.advance(1_000);
    first();
    const second = await waiting;
    await settle();
    expect(busy.level).to.equal(1);
    await clock.advance(1_000);
    if ('target' in second) second.target.release();
    expect(busy.read()).to.include({ busyMs: 3_000, arrivals: 2 });

    slots.hold()!();
    const reservations = new Reservations(slots);
    const id = reservations.make()!;
    await clock.advance(1_000);
    expect(busy.read()).to.include({ busyMs: 3_000, arrivals: 2 });
    const release = reservations.redeem(id)!;
    await clock.advance(500);
    release();
    expect(busy.read()).to.include({ busyMs: 3_500, arrivals: 3 });
    expect(slots.inflight).to.equal(0);
  });
});
