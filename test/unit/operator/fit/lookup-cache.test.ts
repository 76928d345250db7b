import { setImmediate as settle } from 'node:timers/promises';
import { expect } from 'chai';
import { LookupCache } from '../../../../operator/fit/lookup-cache.ts';

describe('what is looked up in the background', () => {
  const open = () => {
    const reads: { key: string; finish: (value: string) => void; fail: () => void }[] = [];
    const told: string[] = [];
    const clock = { now: 1_000 };
    const cache = new LookupCache<string>({
      read: (key) => {
        const { promise, resolve, reject } = Promise.withResolvers<string>();
        reads.push({ key, finish: resolve, fail: () => reject(new Error('no')) });
        return promise;
      },
      maxAgeMs: () => 100,
      isKnown: (value) => value !== 'unknown',
      onChange: (owner) => told.push(owner),
      now: () => clock.now,
    });
    return { reads, told, clock, cache };
  };

  it('is read once for all who ask, who are told when it is there', async () => {
    const { reads, told, cache } = open();
    expect([cache.find('a', 'one'), cache.find('a', 'two')]).to.deep.equal([undefined, undefined]);
    expect(reads).to.have.length(1);
    reads[0]!.finish('value');
    await settle();
    expect(told).to.deep.equal(['one', 'two']);
    expect(cache.find('a', 'one')).to.equal('value');
    expect(reads).to.have.length(1);
  });

  it('is read again when it is old, and tells nobody that nothing changed', async () => {
    const { reads, told, clock, cache } = open();
    cache.find('a', 'one');
    reads[0]!.finish('value');
    await settle();
    clock.now += 100;
    expect(cache.find('a', 'one')).to.equal('value');
    reads[1]!.finish('value');
    await settle();
    expect(told).to.deep.equal(['one']);
    clock.now += 100;
    cache.find('a', 'one');
    reads[2]!.finish('other');
    await settle();
    expect(told).to.deep.equal(['one', 'one']);
  });

  it('stays as it was when a read fails', async () => {
    const { reads, clock, cache } = open();
    cache.find('a', 'one');
    reads[0]!.finish('value');
    await settle();
    clock.now += 100;
    cache.find('a', 'one');
    reads[1]!.fail();
    await settle();
    expect(cache.find('a', 'one')).to.equal('value');
  });

  it('stays as it was when nothing is known for a while', async () => {
    const { reads, told, clock, cache } = open();
    cache.find('a', 'one');
    for (const [value, found] of [
      ['unknown', 'unknown'],
      ['value', 'value'],
      ['unknown', 'value'],
      ['other', 'other'],
    ]) {
      reads.at(-1)!.finish(value!);
      await settle();
      expect(cache.find('a', 'one')).to.equal(found);
      clock.now += 100;
      cache.find('a', 'one');
    }
    expect(told).to.have.length(3);
  });

  it('tells of the first read even if it failed', async () => {
    const { reads, told, cache } = open();
    cache.find('a', 'one');
    reads[0]!.fail();
    await settle();
    expect(told).to.deep.equal(['one']);
  });

  it('is read once of each, however many there are', async () => {
    const { reads, told, cache } = open();
    const keys = Array.from({ length: 25_000 }, (_, index) => String(index));
    for (const key of keys) cache.find(key, key);
    for (let index = 0; index < keys.length; index++) {
      if (!reads[index]) await settle();
      reads[index]!.finish('value');
    }
    await settle();
    expect(told).to.have.length(keys.length);
    expect(keys.every((key) => cache.find(key, key) === 'value')).to.equal(true);
    expect(reads).to.have.length(keys.length);
  });

  it('is dropped with the last who asked, who is told nothing any more', async () => {
    const { reads, told, cache } = open();
    for (const key of ['a', 'b', 'c', 'd', 'e']) cache.find(key, key);
    cache.find('a', 'two');
    cache.find('b', 'a');
    for (const owner of ['two', 'e']) cache.forget(owner);
    for (const { finish } of reads) finish('value');
    await settle();
    expect(reads).to.have.length(4);
    expect(told).to.deep.equal(['b', 'a', 'c', 'd']);
    expect(cache.find('a', 'two')).to.equal(undefined);
    expect(reads).to.have.length(5);
  });

  it('is read of four at a time', async () => {
    const { reads, cache } = open();
    for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) cache.find(key, key);
    await settle();
    expect(reads).to.have.length(4);
    reads[0]!.finish('value');
    await settle();
    expect(reads.map(({ key }) => key)).to.deep.equal(['a', 'b', 'c', 'd', 'e']);
  });
});
