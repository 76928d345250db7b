import { expect } from 'chai';
import { ClaimIndex } from '../../../../operator/framework/claim-index.ts';

const claim = (key: string, since: number) => ({ key, since });

describe('ownership of hosts and ids', () => {
  it('lets the older object keep what two ask for, whatever the order they are seen in', () => {
    for (const order of [
      ['old', 'new'],
      ['new', 'old'],
    ]) {
      const index = new ClaimIndex();
      for (const key of order) index.claim('a.example', claim(key, key === 'old' ? 1 : 2));
      expect(index.owner('a.example')).to.equal('old');
    }
  });

  it('reports the one that loses it when an older object appears', () => {
    const index = new ClaimIndex();
    index.claim('a.example', claim('new', 2));
    expect(index.claim('a.example', claim('old', 1))).to.deep.equal(['new']);
  });

  it('reports the next in line when the owner releases it or claims another', () => {
    const index = new ClaimIndex();
    index.claim('a.example', claim('first', 1));
    index.claim('a.example', claim('second', 2));
    index.claim('a.example', claim('third', 3));
    expect(index.claim('b.example', claim('first', 1))).to.deep.equal(['second']);
    expect(index.release('second')).to.deep.equal(['third']);
    expect(index.owner('a.example')).to.equal('third');
    expect(index.owner('b.example')).to.equal('first');
  });

  it('reports nobody when one that did not own it is removed', () => {
    const index = new ClaimIndex();
    index.claim('a.example', claim('first', 1));
    index.claim('a.example', claim('second', 2));
    expect(index.release('second')).to.deep.equal([]);
    expect(index.release('unknown')).to.deep.equal([]);
  });

  it('decides objects of the same second by their names', () => {
    const index = new ClaimIndex();
    index.claim('a.example', claim('ns/b', 1));
    index.claim('a.example', claim('ns/a', 1));
    expect(index.owner('a.example')).to.equal('ns/a');
  });

  it('costs little with very many claimants of one thing, in any order', function () {
    this.timeout(60_000);
    const before = process.cpuUsage();
    const index = new ClaimIndex();
    const keys = Array.from({ length: 20_000 }, (_, i) => `ns/k${(i * 7_919) % 20_000}`);
    for (const [i, key] of keys.entries()) index.claim('a.example', claim(key, 1_000 + (i % 3)));
    const owners = keys.map(() => {
      const owner = index.owner('a.example')!;
      index.release(owner);
      return owner;
    });
    expect(new Set(owners).size).to.equal(keys.length);
    // With a linear cost per claim, this took 12 s; other programs may take the processor meanwhile.
    expect(process.cpuUsage(before).user / 1_000_000).to.be.below(3);
  });
});
