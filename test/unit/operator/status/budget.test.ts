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
  let random: number;
  let answer: () => Promise<BudgetState | null>;
  let states: BudgetStates;
  beforeEach(() => {
    now = 0;
    reads = 0;
    random = 0;
    answer = async () => ({ spentMicros: 5_500_000, percent: 55, periodEndsAt: END });
    const readBudget = () => {
      reads++;
      return answer();
    };
    states = new BudgetStates({ readBudget, now: () => now, random: () => random });
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

  it('changes with the whole percent and the period, else every five minutes', async () => {
    const spend = (spentMicros: number, percent: number, periodEndsAt = END) => {
      answer = async () => ({ spentMicros, percent, periodEndsAt });
      now += 60_000;
      return find();
    };
    expect((await spend(5_500_000, 55))?.spent).to.equal('5.5');
    expect((await spend(5_510_000, 55))?.spent).to.equal('5.5');
    expect((await spend(5_600_000, 56))?.spent).to.equal('5.6');
    for (let minute = 1; minute < 5; minute++) expect((await spend(5_650_000, 56))?.spent).to.equal('5.6');
    expect((await spend(5_650_000, 56))?.spent).to.equal('5.65');
    expect((await spend(5_640_000, 56, END + 86_400_000))?.spent).to.equal('5.64');
  });

  it('is due again after a minute, and not at once for all', () => {
    expect(states.nextMs()).to.equal(60_000);
    random = 1;
    expect(states.nextMs()).to.equal(90_000);
  });

  it('is forgotten with its holder, or with its namespace', async () => {
    await find();
    states.forget('other');
    await find();
    expect(reads).to.equal(1);
    states.forget('team', HOLDER);
    await find();
    states.forget('team');
    await find();
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
