import { expect } from 'chai';
import { describeBounds } from '../../../console/web/keys/key-bounds.ts';

describe('what bounds a key', () => {
  it('is its owner, its budget and the deployments that it may call', () => {
    const budget = { amount: '200', period: 'Month', spent: '12.5', percent: 6, periodEndsAt: null } as const;
    expect(describeBounds({ owner: 'search', deployments: ['chat', 'embed'], budget })).to.equal(
      'of search; 12.5 of 200 spent this month; only chat, embed',
    );
    expect(describeBounds({ owner: null, deployments: null, budget: { ...budget, spent: null } })).to.equal(
      '? of 200 spent this month',
    );
    expect(describeBounds({ owner: null, deployments: null, budget: null })).to.equal('');
  });
});
