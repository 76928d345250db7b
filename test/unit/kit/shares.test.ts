import { getHeapStatistics } from 'node:v8';
import { expect } from 'chai';
import { parsedValues, processBodies } from '../../../gateway/http/body-memory.ts';
import { Shares } from '../../../kit/shares.ts';

describe('a budget that owners share', () => {
  const open = (waitMs = 60_000) => new Shares({ total: 100, shareOfFree: 2, waitMs });

  it('has room for its largest body when it is empty, and for none that is larger', async () => {
    const memory = new Shares({ total: 300, shareOfFree: 2 });
    expect(memory.maxAmount).to.equal(200);
    expect(memory.open('a').tryAdd(201)).to.equal(false);
    expect(memory.open('a').tryAdd(200)).to.equal(true);
  });

  it('is a third of the heap in a process, of which one body has two ninths and the values of one a ninth', () => {
    const heap = Math.min(getHeapStatistics().heap_size_limit, 768 * 1024 * 1024);
    expect(processBodies.maxAmount).to.be.closeTo((heap * 2) / 9, 1);
    expect(parsedValues.maxAmount).to.be.closeTo(heap / 9, 1);
    const [first, second, third] = ['a', 'b', 'c'].map((tenant) => processBodies.open(tenant));
    expect(first!.tryAdd(processBodies.maxAmount)).to.equal(true);
    expect(second!.tryAdd(Math.ceil(heap / 3) - processBodies.maxAmount)).to.equal(false);
    expect(third!.tryAdd(Math.floor(heap / 3 / 9))).to.equal(true);
    for (const lease of [first, second, third]) lease!.release();
  });

  it('gives a tenant twice what it leaves, and no more', () => {
    const memory = open();
    expect(memory.open('a').grow(66)).to.equal(true);
    expect(memory.open('a').grow(1)).to.be.instanceOf(Promise);
    expect(memory.used).to.equal(66);
  });

  it('leaves room for others, however many take what they can', () => {
    const memory = open();
    for (let tenant = 0; tenant < 3; tenant++) {
      const lease = memory.open(`greedy-${tenant}`);
      while (lease.tryAdd(1));
    }
    expect(memory.open('modest').grow(1)).to.equal(true);
  });

  it('has bodies wait in their order, and lets none wait for a tenant that is over its share', async () => {
    const memory = open();
    const [first, second] = [memory.open('a'), memory.open('a')];
    expect(first.grow(40)).to.equal(true);
    expect(second.grow(26)).to.equal(true);
    const blocked = memory.open('a').grow(60) as Promise<boolean>;
    const waiting = memory.open('b').grow(30) as Promise<boolean>;
    expect(waiting).to.be.instanceOf(Promise);
    second.release();
    expect(await waiting).to.equal(true);
    let isServed = false;
    void blocked.then((hasMemory) => {
      isServed = hasMemory;
    });
    await Promise.resolve();
    expect(isServed).to.equal(false);
  });

  it('refuses what found no room in time, and what was given up meanwhile', async () => {
    const memory = open(10);
    const holder = memory.open('a');
    holder.grow(66);
    const lease = memory.open('a');
    expect(await lease.grow(10)).to.equal(false);
    const given = memory.open('a');
    const waiting = given.grow(10);
    given.release();
    expect(await waiting).to.equal(false);
    expect(given.grow(1)).to.equal(false);
    holder.release();
    expect(memory.used).to.equal(0);
  });

  it('gives an owner a fixed part, of which its only holding may be more', () => {
    const places = new Shares({ total: 10, perOwner: 4 });
    const [small, large, more] = ['a', 'b', 'b'].map((owner) => places.open(owner));
    expect([small!.tryAdd(4), small!.tryAdd(1), large!.tryAdd(5), more!.tryAdd(1)]).to.deep.equal([
      true,
      false,
      true,
      false,
    ]);
    expect([
      places.heldBy('a'),
      places.heldBy('b'),
      places.isFree('c', 1),
      places.isFree('c', 2),
    ]).to.deep.equal([4, 5, true, false]);
    large!.release();
    expect(more!.tryAdd(1)).to.equal(true);
  });

  it('counts a lease once, however often it grows or ends', () => {
    const memory = open();
    const lease = memory.open('a');
    expect(lease.grow(10)).to.equal(true);
    expect(lease.grow(5)).to.equal(true);
    expect(lease.grow(20)).to.equal(true);
    expect(memory.used).to.equal(20);
    lease.release();
    lease.release();
    expect(memory.used).to.equal(0);
    expect(lease.tryAdd(1)).to.equal(false);
  });
});
