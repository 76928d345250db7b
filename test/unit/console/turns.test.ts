import { expect } from 'chai';
import { Turns } from '../../../console/server/kubernetes/turns.ts';

describe('turns', () => {
  it('run few at a time, in the order in which they came, also after one that fails', async () => {
    const turns = new Turns(2);
    const order: string[] = [];
    const ends: (() => void)[] = [];
    const work = (name: string, fails = false) =>
      turns
        .run(async () => {
          order.push(name);
          await new Promise<void>((resolve) => ends.push(resolve));
          if (fails) throw new Error(name);
        })
        .catch(() => {});
    const all = [work('first', true), work('second'), work('third'), work('fourth')];
    expect(order).to.deep.equal(['first', 'second']);
    ends[0]!();
    await all[0];
    await Promise.resolve();
    expect(order).to.deep.equal(['first', 'second', 'third']);
    for (const index of [1, 2]) ends[index]!();
    await all[2];
    await new Promise(setImmediate);
    ends[3]!();
    await Promise.all(all);
    expect(order).to.deep.equal(['first', 'second', 'third', 'fourth']);
  });
});
