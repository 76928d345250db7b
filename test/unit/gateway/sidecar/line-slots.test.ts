import { expect } from 'chai';
import { BusyTime } from '../../../../gateway/capacity/busy-time.ts';
import { Slots } from '../../../../gateway/capacity/replica-capacity.ts';
import { LinePace } from '../../../../gateway/sidecar/line-slots.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

describe('slots that are lent to lines', () => {
  const lendAll = (slots: Slots, most = 0) => {
    const revoked: number[] = [];
    const releases: (() => void)[] = [];
    for (;;) {
      const line = releases.length;
      const release = slots.lend(most, () => revoked.push(line));
      if (!release) return { revoked, releases };
      releases.push(release);
    }
  };

  it('are all idle ones, and count no load', () => {
    const slots = new Slots(() => 8);
    slots.take();
    const { releases } = lendAll(slots);
    expect(releases).to.have.length(7);
    expect(slots.inflight).to.equal(8);
    expect(slots.taken).to.equal(1);
    expect(slots.isFull).to.equal(false);
    expect(slots.busy.level).to.equal(1);
  });

  it('are a request’s at once, which ends the youngest line', () => {
    const slots = new Slots(() => 3);
    let crossings = 0;
    slots.onCrossing(() => crossings++);
    const { revoked, releases } = lendAll(slots);
    expect(slots.take()).to.not.equal(null);
    expect(slots.hold()).to.not.equal(null);
    expect(revoked).to.eql([2, 1]);
    releases[2]!();
    expect(slots.inflight, 'a line without a slot releases none').to.equal(3);
    expect(crossings).to.equal(0);
    const last = slots.take()!;
    expect(revoked).to.eql([2, 1, 0]);
    expect(slots.take()).to.equal(null);
    expect(slots.isFull).to.equal(true);
    last();
    expect(crossings).to.equal(2);
  });

  it('leave one free for the next request, for a second', async () => {
    const clock = new FakeClock();
    const slots = new Slots(() => 2, new BusyTime(), clock);
    const { revoked } = lendAll(slots);
    slots.take()!();
    expect(slots.lend(0, () => {})).to.equal(null);
    slots.take()!();
    expect(revoked, 'the second ended none').to.eql([1]);
    let free = 0;
    slots.onFree(() => free++);
    await clock.advance(1_000);
    expect(free).to.equal(1);
    expect(slots.lend(0, () => {})).to.not.equal(null);
  });

  it('are few where slots are unlimited, requests included', () => {
    const slots = new Slots(() => null);
    slots.take();
    expect(lendAll(slots, 4).releases).to.have.length(3);
  });

  it('are offered again with each that becomes free', () => {
    const slots = new Slots(() => 2);
    let free = 0;
    slots.onFree(() => free++);
    slots.take()!();
    slots.lend(0, () => {})!();
    expect(free).to.equal(2);
  });
});

describe('the pace of lines at an engine without a limit', () => {
  let waiting: number | null = 0;
  let now = 0;
  const end = (pace: LinePace, count: number) => {
    for (let line = 0; line < count; line++) pace.count(() => {})();
  };

  it('grows while nothing waits in the engine, to 64', () => {
    const pace = new LinePace(() => waiting);
    expect(pace.most).to.equal(4);
    end(pace, 10);
    expect(pace.most).to.equal(14);
    end(pace, 1_000);
    expect(pace.most).to.equal(64);
  });

  it('pauses while something waits, and goes on at half of it', () => {
    const pace = new LinePace(
      () => waiting,
      () => now,
    );
    end(pace, 60);
    waiting = 3;
    expect(pace.most).to.equal(0);
    expect(pace.most, 'reports lag behind').to.equal(0);
    waiting = 0;
    expect(pace.most).to.equal(32);
    now += 10_000;
    waiting = 1;
    expect(pace.most).to.equal(0);
    waiting = 0;
    expect(pace.most).to.equal(16);
  });

  it('stays at four where the engine reports nothing', () => {
    waiting = null;
    const pace = new LinePace(() => waiting);
    end(pace, 100);
    expect(pace.most).to.equal(4);
  });
});
