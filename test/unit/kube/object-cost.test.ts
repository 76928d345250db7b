import { expect } from 'chai';
import { measureCost } from '../../../kube/object-cost.ts';

/** As JSON.parse makes it, which nests without recursion. */
const nest = (depth: number): unknown => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`);

describe('the cost of an object', () => {
  it('is finite up to 100 levels within the object', () => {
    expect(measureCost(nest(101), 1_000_000)).to.be.below(1_000_000);
    expect(measureCost(nest(102), 1_000_000)).to.equal(Number.POSITIVE_INFINITY);
  });

  it('counts texts and the names of members, and is infinite beyond the limit', () => {
    for (const value of ['x'.repeat(1_000), { ['x'.repeat(1_000)]: 1 }, Array(100).fill(1)]) {
      const cost = measureCost(value, 10_000);
      expect(cost).to.be.within(1_000, 5_000);
      expect(measureCost(value, cost)).to.equal(cost);
      expect(measureCost(value, cost - 1)).to.equal(Number.POSITIVE_INFINITY);
    }
  });
});
