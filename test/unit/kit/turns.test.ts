import { expect } from 'chai';
import { Turns } from '../../../kit/turns.ts';
import { listSeeds, seedRandom } from '../../support/random-seeds.ts';

interface Item {
  owner: string;
  cost: number;
}

/** The item whose turn it is has it: it is charged, and gone. */
function take(turns: Turns<Item>): Item | null {
  const item = turns.next()?.item;
  if (!item) return null;
  turns.remove(item.owner, item);
  turns.charge(item.owner, item.cost);
  return item;
}

const serve = (turns: Turns<Item>): string => {
  let order = '';
  for (let item = take(turns); item; item = take(turns)) order += item.owner;
  return order;
};

describe('turns', () => {
  it('go round where all cost the same, each owner’s in order of arrival', () => {
    const turns = new Turns<Item>();
    for (const owner of 'aaabbc') turns.add(owner, { owner, cost: 1 });
    expect(turns.size).to.equal(6);
    expect(serve(turns)).to.equal('abcaba');
    expect(turns.size).to.equal(0);
  });

  it('go to whoever has used the least', () => {
    const turns = new Turns<Item>();
    for (let index = 0; index < 3; index++) turns.add('a', { owner: 'a', cost: 10 });
    for (let index = 0; index < 20; index++) turns.add('b', { owner: 'b', cost: 1 });
    expect(serve(turns)).to.equal(`a${'b'.repeat(10)}a${'b'.repeat(10)}a`);
  });

  it('give no credit for time away', () => {
    const turns = new Turns<Item>();
    for (let index = 0; index < 100; index++) turns.add('a', { owner: 'a', cost: 1 });
    for (let index = 0; index < 50; index++) take(turns);
    for (let index = 0; index < 5; index++) turns.add('b', { owner: 'b', cost: 1 });
    let order = '';
    for (let index = 0; index < 8; index++) order += take(turns)!.owner;
    expect(order).to.equal('babababa');
  });

  it('go to higher priorities first, but one in four to whoever has used the least', () => {
    const turns = new Turns<Item>();
    for (let index = 0; index < 6; index++) turns.add('low', { owner: 'low', cost: 1 }, 0);
    for (let index = 0; index < 6; index++) turns.add('high', { owner: 'high', cost: 1 }, 1);
    const order = Array.from({ length: 8 }, () => take(turns)!.owner);
    expect(order).to.deep.equal(['high', 'high', 'high', 'low', 'high', 'high', 'high', 'low']);
  });

  it('remember no owner that waits for nothing and has paid', () => {
    const turns = new Turns<Item>();
    for (let index = 0; index < 1_000; index++)
      turns.add(`o${index}`, { owner: `o${index}`, cost: index % 7 });
    for (let index = 0; index < 500; index++) take(turns);
    expect([...turns.owners()].length).to.be.at.most(1_000);
    serve(turns);
    turns.add('late', { owner: 'late', cost: 1 });
    serve(turns);
    turns.forgive();
    expect([...turns.owners()]).to.deep.equal([]);
  });

  it('pass over owners that may have none now', () => {
    const turns = new Turns<Item>();
    for (const owner of 'ab') turns.add(owner, { owner, cost: 1 });
    expect(turns.next((id) => id !== 'a')?.owner).to.equal('b');
    expect(turns.next(() => false)).to.equal(null);
  });

  it('know an owner as free once it has paid and nothing of it waits, or all is forgiven', () => {
    const turns = new Turns<Item>();
    turns.charge('a', 5);
    expect(turns.isFree('a')).to.equal(false);
    expect(turns.isFree('b')).to.equal(true);
    turns.forgive();
    expect(turns.isFree('a')).to.equal(true);
  });

  for (const seed of listSeeds())
    it(`delay no owner by more than one turn of each other (seed ${seed})`, () => {
      const random = seedRandom(seed);
      const turns = new Turns<Item>();
      const waiting = new Map<string, Item[]>();
      /** Turns of others since an owner began to wait for its next one. */
      const passed = new Map<string, Map<string, number>>();
      for (let step = 0; step < 5_000; step++) {
        if (random() < 0.5) {
          const owner = `o${Math.floor(random() * 6)}`;
          const item = { owner, cost: owner === 'o0' ? 1_000 : 1 + random() * 10 };
          if (!waiting.get(owner)?.length) passed.set(owner, new Map());
          waiting.set(owner, [...(waiting.get(owner) ?? []), item]);
          turns.add(owner, item);
          continue;
        }
        const item = take(turns);
        const expected = [...waiting.values()].flat().length > 0;
        expect(item !== null).to.equal(expected);
        if (!item) continue;
        expect(waiting.get(item.owner)!.shift()).to.equal(item);
        passed.set(item.owner, new Map());
        for (const [owner, others] of passed) {
          if (owner === item.owner || !waiting.get(owner)?.length) continue;
          others.set(item.owner, (others.get(item.owner) ?? 0) + 1);
          // The expensive owner's next turn never comes twice while another waits.
          if (item.owner === 'o0') expect(others.get('o0'), owner).to.equal(1);
        }
      }
    });

  it('looks at no item of an owner that may have no turn, and past those that may not have theirs', () => {
    const turns = new Turns<string>();
    for (const item of ['a1', 'a2', 'a3']) turns.add('a', item);
    for (const item of ['b1', 'b2']) turns.add('b', item);
    const seen: string[] = [];
    const mayItem = (item: string) => seen.push(item) > 1;
    const turn = turns.next((owner) => owner !== 'a', mayItem);
    expect([turn, seen]).to.deep.equal([{ owner: 'b', item: 'b2' }, ['b1', 'b2']]);
  });
});
