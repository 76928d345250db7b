import { expect } from 'chai';
import {
  addQuantities,
  duration,
  MAX_RETENTION_DAYS,
  parseQuantity,
  quantityBetween,
} from '../../../api/quantity.ts';

describe('a duration', () => {
  it('is at most what timers hold, however its units are mixed', () => {
    const schema = duration('Any.');
    for (const text of ['24d', '576h', '23d24h', '1h30m', '100ms'])
      expect(schema.safeParse(text).success, text).to.equal(true);
    for (const text of ['25d', '577h', '23d25h', '1d1d30d', '24d1ms', '9999999999999999s'])
      expect(schema.safeParse(text).error?.issues[0]?.message, text).to.equal('must be at most 24d');
  });

  it('may be years where something is kept', () => {
    const schema = duration('Any.', MAX_RETENTION_DAYS);
    expect(schema.safeParse('365d').success).to.equal(true);
    expect(schema.safeParse('4000d').success).to.equal(false);
  });
});

describe('a quantity of Kubernetes', () => {
  it('may have an exponent and any unit', () => {
    const texts = ['1e11', '12E6', '2E', '1Pi', '500m', '1.5Gi', '5.', '1e-3', '40'];
    expect(texts.map(parseQuantity)).to.deep.equal([
      1e11,
      12e6,
      2e18,
      1024 ** 5,
      0.5,
      1.5 * 1024 ** 3,
      5,
      1e-3,
      40,
    ]);
    for (const text of ['', 'x', '1e', 'Gi', '1mi', '-1', '1 Gi']) expect(parseQuantity(text)).to.be.NaN;
  });

  it('is added to another', () => {
    expect(addQuantities('1e11', '40Gi')).to.equal(`${Math.ceil(1e11 / 1024 ** 2) + 40 * 1024}Mi`);
    expect(addQuantities('much', '40Gi')).to.equal('much');
  });
});

describe('a quantity between two others', () => {
  it('is neither a number without its unit nor more than there can be', () => {
    const schema = quantityBetween('1Gi', '64Ti', 'Any.');
    for (const text of ['1Gi', '1024Mi', '40Gi', '64Ti', '1.5G'])
      expect(schema.safeParse(text).success, text).to.equal(true);
    for (const text of ['0', '1m', '40', '1023Mi', '65Ti', '9999999999999999999999Ti'])
      expect(schema.safeParse(text).error?.issues[0]?.message, text).to.equal('must be from 1Gi to 64Ti');
  });
});
