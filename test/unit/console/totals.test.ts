import { expect } from 'chai';
import { formatMs, formatShare } from '../../../console/web/usage/totals.ts';

describe('figures of usage', () => {
  it('have a share that is not hidden by rounding', () => {
    expect([formatShare(1, 3_000), formatShare(0, 3_000), formatShare(1, 40)]).to.deep.equal([
      '<0.1%',
      '0%',
      '2.5%',
    ]);
  });

  it('have no more of a unit than the next one has', () => {
    expect([999.4, 999.7, 59_949, 59_970].map(formatMs)).to.deep.equal(['999 ms', '1 s', '59.9 s', '1 min']);
  });
});
