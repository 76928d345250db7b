import { expect } from 'chai';
import { ConcurrencyLimit } from '../../../kit/concurrency-limit.ts';

describe('a limit of concurrency', () => {
  it('runs few at a time, in the order in which they came, also after one that fails', async () => {
    const limit = new ConcurrencyLimit(2);
    const order: string[] = [];
    const ends: (() => void)[] = [];
    const work = (name: string, fails = false) =>
      limit
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

  it('alternates between owners, however much one of them wants', async () => {
    const limit = new ConcurrencyLimit(1);
    const order: string[] = [];
    const work = (owner: string, name: string) => limit.run(async () => void order.push(name), owner);
    const many = ['first', 'second', 'third', 'fourth'].map((name) => work('greedy', name));
    await Promise.all([...many, work('modest', 'only')]);
    expect(order).to.deep.equal(['first', 'second', 'only', 'third', 'fourth']);
  });

  it('leaves room for others, where one owner may have only some at a time', async () => {
    const limit = new ConcurrencyLimit(2, { perOwner: 1 });
    const order: string[] = [];
    const ends: (() => void)[] = [];
    const work = (owner: string, name: string) =>
      limit.run(async () => {
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

  it('forgets whoever gives up waiting, and says why', async () => {
    const limit = new ConcurrencyLimit(1);
    const order: string[] = [];
    let end = () => {};
    const first = limit.run(() => new Promise<void>((resolve) => (end = resolve)), 'a');
    const patience = new AbortController();
    const refused = limit.run(async () => void order.push('b'), 'b', patience.signal).catch((error) => error);
    const last = limit.run(async () => void order.push('c'), 'c');
    const reason = new Error('late');
    patience.abort(reason);
    expect(await refused).to.equal(reason);
    end();
    await Promise.all([first, last]);
    expect(order).to.deep.equal(['c']);
  });

  it('lets nobody in whose time is already over', async () => {
    const limit = new ConcurrencyLimit(1);
    const reason = new Error('over');
    const run = (signal?: AbortSignal) => limit.run(async () => 'ran', 'a', signal).catch((error) => error);
    expect(await run(AbortSignal.abort(reason))).to.equal(reason);
    expect(await run()).to.equal('ran');
  });
});
