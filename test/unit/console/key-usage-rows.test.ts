import { expect } from 'chai';
import { findDays, nameKey, sumCosts } from '../../../console/web/usage/key-usage-rows.ts';
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

  it('has those of playgrounds as one', () => {
    expect(countedAs('ab'.repeat(32), 'console:ann')).to.equal('0'.repeat(24));
    for (const name of ['app', null]) expect(countedAs('ab'.repeat(32), name)).to.equal('ab'.repeat(32));
    expect(nameKey({ key: null, keyHash: '0'.repeat(24) })).to.equal('Playgrounds');
  });

  describe('costs by day', () => {
    const days = { from: '2026-11-23', to: '2026-11-25' };
    const row = (day: string, key: string, cost: string, deployment = 'chat') => ({
      ...{ day, key, cost, deployment, model: null, keyHash: key.repeat(24).slice(0, 24) },
      ...{ requests: 1, inputTokens: 0, outputTokens: 0 },
    });

    it('are those of each key, the dearest first, on every day of the period', () => {
      const rows = [
        row('2026-11-25', 'a', '0.25'),
        row('2026-11-25', 'b', '2'),
        row('2026-11-23', 'a', '0.5', 'image'),
        row('2026-11-23', 'c', '0'),
      ];
      expect(sumCosts(rows, 'key', days)).to.deep.equal({
        groups: ['b', 'a'],
        days: [
          { at: '2026-11-23', cost0: 0, cost1: 0.5 },
          { at: '2026-11-24', cost0: 0, cost1: 0 },
          { at: '2026-11-25', cost0: 2, cost1: 0.25 },
        ],
      });
      expect(sumCosts(rows, 'deployment', days)!.groups).to.deep.equal(['chat', 'image']);
    });

    it('of more than five keys are those of four, and of all others', () => {
      const rows = ['a', 'b', 'c', 'd', 'e', 'f'].map((key, index) => row('2026-11-24', key, `${index + 1}`));
      const { groups, days: found } = sumCosts(rows, 'key', days)!;
      expect(groups).to.deep.equal(['f', 'e', 'd', 'c', 'others']);
      expect(found[1]).to.include({ cost0: 6, cost4: 3 });
    });

    it('are none where nothing has a price', () => {
      expect(sumCosts([row('2026-11-24', 'a', '0')], 'key', days)).to.equal(undefined);
    });
  });
});
