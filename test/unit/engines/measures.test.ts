import { expect } from 'chai';
import { largestGap } from '../../engines/measures.ts';

describe('the largest gap between frames', () => {
  it('is the longest pause before any frame from the first that counts', () => {
    const arrivals = [0, 900, 910, 920, 1720, 1730];
    expect(largestGap(arrivals, 0)).to.equal(900);
    expect(largestGap(arrivals, 2)).to.equal(800);
    expect(largestGap(arrivals, 4), 'a pause that ends with this frame counts').to.equal(800);
    expect(largestGap(arrivals, 5)).to.equal(10);
  });

  it('is 0 where no frame follows', () => {
    expect(largestGap([0, 100], 2)).to.equal(0);
    expect(largestGap([], 0)).to.equal(0);
  });
});
