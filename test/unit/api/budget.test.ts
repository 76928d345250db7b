import { expect } from 'chai';
import { decodeBounding, encodeBudget, findPeriod, nameCounter, percentOf } from '../../../api/budget.ts';

describe('a budget', () => {
  const at = Date.parse('2026-11-30T23:59:59.999Z');
  for (const [period, end] of [
    ['Day', '2026-12-01T00:00:00.000Z'],
    ['Week', '2026-12-07T00:00:00.000Z'],
    ['Month', '2026-12-01T00:00:00.000Z'],
  ] as const)
    it(`ends its ${period} at the border in UTC, and begins another one there`, () => {
      const { number, endsAt } = findPeriod(period, at);
      expect(new Date(endsAt).toISOString()).to.equal(end);
      expect(findPeriod(period, endsAt - 1).number).to.equal(number);
      expect(findPeriod(period, endsAt).number).to.equal(number + 1);
    });

  it('has a counter for each holder and period', () => {
    const names = (['Day', 'Week', 'Month'] as const).flatMap((period) =>
      (['key', 'owner'] as const).map((kind) => nameCounter({ kind, name: 'a' }, period, at)),
    );
    expect(new Set(names).size).to.equal(6);
    expect(nameCounter({ kind: 'key', name: 'a' }, 'Month', at)).to.equal('key:a:Month:24322');
  });

  it('is a text in Redis, and read from one', () => {
    expect(encodeBudget({ micros: 5, period: 'Week', warnAt: [50, 80] })).to.equal('5,Week,50,80');
    expect(decodeBounding('owner:team@x.y,5,Week,1796083200')).to.deep.equal({
      ...{ kind: 'owner', name: 'team@x.y', micros: 5, period: 'Week', endsAt: 1_796_083_200 },
    });
  });

  it('is spent to a whole percent, and at once without an amount', () => {
    expect([percentOf(799, 1_000), percentOf(0, 0), percentOf(3_000, 1_000)]).to.deep.equal([79, 100, 300]);
  });
});
