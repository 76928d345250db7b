import { expect } from 'chai';
import { BudgetStates, rememberBudget } from '../../../../operator/status/budget.ts';
import type { BudgetState } from '../../../../redis/admission/budgets.ts';

const HOLDER = { kind: 'key', name: 'a' } as const;
const BUDGET = { amount: '10', period: 'Month' as const, warnAt: [50] };
const END = Date.parse('2026-12-01T00:00:00Z');
const KNOWN = { spent: '4', percent: 40, periodEndsAt: '2026-12-01T00:00:00.000Z' };

describe('the state of a budget in a status', () => {
  let now: number;
  let reads: number;
  let answer: () => Promise<BudgetState | null>;
  let states: BudgetStates;
  beforeEach(() => {
    now = 0;
    reads = 0;
    answer = async () => ({ spentMicros: 5_500_000, percent: 55, periodEndsAt: END });
    const readBudget = () => {
      reads++;
      return answer();
    };
    states = new BudgetStates({ readBudget, now: () => now });
  });
  const find = (amount = '10') =>
    states.find('team', HOLDER, { budget: { ...BUDGET, amount }, known: KNOWN });

  it('follows Redis once a minute, and at once for another budget', async () => {
    const first = await find();
    expect(first).to.deep.equal({ spent: '5.5', percent: 55, periodEndsAt: '2026-12-01T00:00:00.000Z' });
    now = 59_999;
    expect(await find()).to.equal(first);
    expect(reads).to.equal(1);
    await find('20');
    expect(reads).to.equal(2);
    now += 60_000;
    await find('20');
    expect(reads).to.equal(3);
  });

  it('stays while Redis is unavailable, and while it has lost what was spent', async () => {
    answer = async () => null;
    expect(await find()).to.equal(KNOWN);
    answer = () => Promise.reject(new Error('away'));
    expect(await find()).to.equal(KNOWN);
  });

  it('is what is restored', () => {
    const budget = { micros: 10_000_000, period: 'Month', warnAt: [50] };
    expect(rememberBudget(HOLDER, BUDGET, KNOWN)).to.deep.equal([
      { holder: HOLDER, budget, spentMicros: 4_000_000, periodEndsAt: END },
    ]);
    expect(rememberBudget(HOLDER, BUDGET, undefined)).to.deep.equal([]);
  });
});
