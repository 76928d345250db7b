import { expect } from 'chai';
import { findDays, nameKey, sumByOwner } from '../../../console/web/usage/key-usage-rows.ts';
import { countedAs } from '../../../redis/usage/key-usage.ts';

const NOW = Date.parse('2026-11-25T00:30:00Z');

describe('usage by key', () => {
  it('has the days in UTC that a range of hours touches, and as many days as a range of days has', () => {
    expect(findDays('1h', NOW)).to.deep.equal({ from: '2026-11-24', to: '2026-11-25' });
    expect(findDays('24h', NOW)).to.deep.equal({ from: '2026-11-24', to: '2026-11-25' });
    expect(findDays('7d', NOW)).to.deep.equal({ from: '2026-11-19', to: '2026-11-25' });
    expect(findDays('30d', NOW)).to.deep.equal({ from: '2026-10-27', to: '2026-11-25' });
  });

  it('tells keys without a name apart', () => {
    expect(nameKey({ key: 'app', keyHash: 'a'.repeat(24) })).to.equal('app');
    expect(nameKey({ key: null, keyHash: 'ab12'.repeat(6) })).to.equal('unnamed (ab12ab12)');
  });

  it('is summed by owner, the dearest first, without rounding errors', () => {
    const row = { requests: 1, inputTokens: 2, outputTokens: 3, cost: '0.1' };
    const rows = [
      { ...row, owner: 'a' },
      ...Array.from({ length: 3 }, () => ({ ...row, owner: 'b' })),
      { ...row, owner: null },
    ];
    expect(sumByOwner(rows)).to.deep.equal([
      { owner: 'b', requests: 3, tokens: 15, cost: 0.3 },
      { owner: 'a', requests: 1, tokens: 5, cost: 0.1 },
      { owner: null, requests: 1, tokens: 5, cost: 0.1 },
    ]);
    expect(sumByOwner([{ ...row, owner: null }])).to.deep.equal([]);
  });

  it('has those of playgrounds as one', () => {
    expect(countedAs('ab'.repeat(32), 'console:ann')).to.equal('0'.repeat(24));
    for (const name of ['app', null]) expect(countedAs('ab'.repeat(32), name)).to.equal('ab'.repeat(32));
    expect(nameKey({ key: null, keyHash: '0'.repeat(24) })).to.equal('Playgrounds');
  });
});
