import { expect } from 'chai';
import { Turns } from '../../../kit/turns.ts';

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

  it('alternate between owners, however much one of them wants', async () => {
    const turns = new Turns(1);
    const order: string[] = [];
    const work = (owner: string, name: string) => turns.run(async () => void order.push(name), owner);
    const many = ['first', 'second', 'third', 'fourth'].map((name) => work('greedy', name));
    await Promise.all([...many, work('modest', 'only')]);
    expect(order).to.deep.equal(['first', 'second', 'only', 'third', 'fourth']);
  });

  it('leave room for others, where one owner may have only some at a time', async () => {
    const turns = new Turns(2, { each: 1 });
    const order: string[] = [];
    const ends: (() => void)[] = [];
    const work = (owner: string, name: string) =>
      turns.run(async () => {
        order.push(name);
        await new Promise<void>((resolve) => ends.push(resolve));
      }, owner);
    const all = [work('greedy', 'first'), work('greedy', 'second'), work('modest', 'only')];
    expect(order).to.deep.equal(['first', 'only']);
    ends[1]!();
    await all[2];
    expect(order).to.deep.equal(['first', 'only']);
    ends[0]!();
    await all[0];
    await new Promise(setImmediate);
    ends[2]!();
    await Promise.all(all);
    expect(order).to.deep.equal(['first', 'only', 'second']);
  });
});
