import { expect } from 'chai';
import { orderFairly, type Waiting } from '../../../../operator/scaling/fairness.ts';

const wait = (key: string, since: number): Waiting => ({
  key,
  namespace: key.split('/')[0]!,
  since,
  turns: 0,
});
const keysOf = (waiting: Waiting[]) => waiting.map(({ key }) => key);

describe('the order in which deployments are tried where room is short', () => {
  it('serves first come, first served within a workspace', () => {
    const ordered = orderFairly([wait('a/3', 30), wait('a/1', 10), wait('a/2', 20)], new Map());
    expect(keysOf(ordered)).to.deep.equal(['a/1', 'a/2', 'a/3']);
  });

  it('alternates between workspaces, however many deployments one has', () => {
    const many = Array.from({ length: 5 }, (_, index) => wait(`a/${index}`, index));
    const ordered = orderFairly([...many, wait('b/1', 50), wait('b/2', 60)], new Map());
    expect(keysOf(ordered).slice(0, 5)).to.deep.equal(['a/0', 'b/1', 'a/1', 'b/2', 'a/2']);
  });

  it('begins with the workspace that holds least', () => {
    const held = new Map([
      ['a', 3],
      ['b', 1],
    ]);
    const ordered = orderFairly([wait('a/1', 1), wait('a/2', 2), wait('b/1', 10), wait('b/2', 20)], held);
    expect(keysOf(ordered)).to.deep.equal(['b/1', 'b/2', 'a/1', 'a/2']);
  });

  it('counts a turn without success like a replica', () => {
    const unlucky = { ...wait('a/1', 1), turns: 1 };
    const ordered = orderFairly([unlucky, wait('b/1', 10), wait('b/2', 20), wait('c/1', 30)], new Map());
    expect(keysOf(ordered)).to.deep.equal(['b/1', 'c/1', 'a/1', 'b/2']);
  });

  it('shares 50 places between 4 workspaces that wake 200 deployments at once', () => {
    const sizes = { a: 120, b: 40, c: 30, d: 10 };
    const waiting = Object.entries(sizes).flatMap(([namespace, count], group) =>
      Array.from({ length: count }, (_, index) => wait(`${namespace}/${index}`, group + index)),
    );
    const places = keysOf(orderFairly(waiting, new Map()).slice(0, 50));
    const shares = Object.keys(sizes).map(
      (namespace) => places.filter((key) => key.startsWith(`${namespace}/`)).length,
    );
    // The smallest gets all that it needs; the others share the rest.
    expect(shares).to.deep.equal([14, 13, 13, 10]);
  });
});
