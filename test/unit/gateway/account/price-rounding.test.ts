import { expect } from 'chai';
import { PriceRounding } from '../../../../gateway/account/price-rounding.ts';

describe('the price of a request', () => {
  const roundAll = (count: number, price: number) => {
    const rounding = new PriceRounding();
    return Array.from({ length: count }, () => rounding.round('key', price));
  };
  const sum = (amounts: number[]) => amounts.reduce((total, amount) => total + amount, 0);

  it('is whole millionths, so that many small requests cost what a large one does', () => {
    expect(sum(roundAll(1_000, 0.06))).to.equal(60);
    expect(sum(roundAll(100_000, 0.1))).to.equal(10_000);
    expect(sum(roundAll(3, 1 / 3))).to.equal(1);
    expect(roundAll(4, 0.5)).to.deep.equal([0, 1, 0, 1]);
    expect(roundAll(3, 1.5)).to.deep.equal([1, 2, 1]);
  });

  it('stays as it is where it is whole', () => {
    expect(roundAll(3, 7)).to.deep.equal([7, 7, 7]);
    expect(roundAll(3, 0)).to.deep.equal([0, 0, 0]);
  });

  it('has nothing of the requests of other keys', () => {
    const rounding = new PriceRounding();
    expect(['a', 'b', 'a'].map((key) => rounding.round(key, 0.5))).to.deep.equal([0, 0, 1]);
  });
});
