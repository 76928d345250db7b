import { expect } from 'chai';
import { Slots } from '../../../../gateway/capacity/replica-capacity.ts';
import { Reservations } from '../../../../gateway/capacity/reservations.ts';

describe('the slots of a replica', () => {
  it('gives no more places than the limit and takes one back only once', () => {
    const slots = new Slots(() => 2);
    const release = slots.take()!;
    slots.take();
    expect(slots.take()).to.equal(null);
    release();
    release();
    expect(slots.inflight).to.equal(1);
  });

  it('says no more of crossings to who no longer asks', () => {
    const slots = new Slots(() => 1);
    let crossings = 0;
    const stop = slots.onCrossing(() => crossings++);
    slots.take()!();
    stop();
    slots.take()!();
    expect(crossings).to.equal(2);
  });

  it('has no end of places without a limit', () => {
    const slots = new Slots(() => null);
    for (let i = 0; i < 1000; i++) expect(slots.take()).to.be.a('function');
    expect(slots.inflight).to.equal(1000);
  });

  it('obeys a limit that changes while places are taken', () => {
    let limit: number | null = 3;
    const slots = new Slots(() => limit);
    const releases = [slots.take(), slots.take(), slots.take()];
    limit = 1;
    releases[0]!();
    releases[1]!();
    expect(slots.take()).to.equal(null);
    limit = null;
    expect(slots.take()).to.be.a('function');
  });

  it('reports when the last slot is taken and when one becomes free', () => {
    const told: boolean[] = [];
    const slots = new Slots(() => 2);
    slots.onCrossing(() => told.push(slots.isFull));
    const first = slots.take()!;
    expect(told).to.deep.equal([]);
    const second = slots.take()!;
    expect(told).to.deep.equal([true]);
    first();
    second();
    expect(told).to.deep.equal([true, false]);
  });
});

describe('reservations for peers', () => {
  it('hand their place over once', () => {
    const slots = new Slots(() => 1);
    const reservations = new Reservations(slots);
    const id = reservations.make()!;
    expect(reservations.make()).to.equal(null);
    const release = reservations.redeem(id)!;
    expect(reservations.redeem(id)).to.equal(null);
    expect(slots.inflight).to.equal(1);
    release();
    expect(slots.inflight).to.equal(0);
  });

  it('give the place back when nobody comes', async () => {
    let wakeUp = () => {};
    const freed = new Promise<void>((resolve) => {
      wakeUp = resolve;
    });
    const slots = new Slots(() => 1);
    slots.onCrossing(() => {
      if (!slots.isFull) wakeUp();
    });
    const reservations = new Reservations(slots, 20);
    const id = reservations.make()!;
    await Promise.all([freed, keepAlive(freed)]);
    expect(slots.inflight).to.equal(0);
    expect(reservations.redeem(id)).to.equal(null);
  });

  it('know nothing of an id that was never given', () => {
    expect(new Reservations(new Slots(() => 1)).redeem('guess')).to.equal(null);
  });
});

/** The reservation's timer does not keep the process alive, so this does. */
async function keepAlive(until: Promise<void>): Promise<void> {
  const timer = setInterval(() => {}, 10);
  await until;
  clearInterval(timer);
}
