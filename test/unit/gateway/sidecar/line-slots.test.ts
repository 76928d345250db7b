import { expect } from 'chai';
import { Slots } from '../../../../gateway/capacity/replica-capacity.ts';
import { LinePace } from '../../../../gateway/sidecar/line-slots.ts';

describe('slots that are lent to lines', () => {
  const lendAll = (slots: Slots, most = 0) => {
    const lent: (() => void)[] = [];
    for (let release = slots.lend(most); release; release = slots.lend(most)) lent.push(release);
    return lent;
  };

  it('leave one in twenty free, and count no load', () => {
    const slots = new Slots(() => 64);
    const lent = lendAll(slots);
    expect(lent).to.have.length(61);
    expect(slots.lent).to.equal(61);
    expect(slots.busy.level).to.equal(0);
    const taken = [slots.take(), slots.take(), slots.take()];
    expect(taken).to.not.include(null);
    expect(slots.isFull).to.equal(true);
    lent[0]!();
    lent[0]!();
    expect(slots.lent).to.equal(60);
    expect(slots.lend(0), 'while requests have the rest').to.equal(null);
  });

  it('are few where slots are unlimited, requests included', () => {
    const slots = new Slots(() => null);
    slots.take();
    expect(lendAll(slots, 4)).to.have.length(3);
  });

  it('are offered again with each that becomes free', () => {
    const slots = new Slots(() => 2);
    let free = 0;
    slots.onFree(() => free++);
    slots.take()!();
    expect(free).to.equal(1);
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
