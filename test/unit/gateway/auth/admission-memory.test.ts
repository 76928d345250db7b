import { expect } from 'chai';
import { AdmissionMemory } from '../../../../gateway/auth/admission-memory.ts';
import { ApiError } from '../../../../gateway/http/error-response.ts';
import { createLog } from '../../../../gateway/telemetry/log.ts';
import { createMetrics } from '../../../../gateway/telemetry/metrics.ts';
import type { Admission, KeyBudgets } from '../../../../redis/admission/admission-calls.ts';

const SHA256 = 'a'.repeat(64);
const END = 1_796_083_200;
const BEFORE = END * 1_000 - 1;
const TEXT = 'key:alice,5000000,Month';

describe('a key with bounds while Redis is away', () => {
  const budgetsOf = (fields: Partial<KeyBudgets> = {}): KeyBudgets => ({
    text: TEXT,
    tightest: { kind: 'key', name: 'alice', micros: 5_000_000, period: 'Month', endsAt: END },
    leftMicros: 0,
    isCreditGone: false,
    ...fields,
  });
  /** Asked at a time, after Redis' last answer just before the end of the period. */
  function ask(
    last: Partial<Admission>,
    { now = BEFORE, ...request }: { now?: number; counted?: 'all' | 'no'; deployment?: string } = {},
  ) {
    let time = BEFORE;
    const memory = new AdmissionMemory({ log: createLog('silent'), metrics: createMetrics() }, () => time);
    memory.remember(SHA256, {
      ...{ verdict: 'ok', keyName: 'alice', expiresAt: 0, creditLeft: true, retryAfter: 0, priority: 0 },
      rpm: { limit: 60, remaining: 10, resetAt: END },
      tpd: { limit: 1_000, used: 0, resetAt: END },
      ...{ lease: null, budgets: null, deployments: null },
      ...last,
    });
    time = now;
    try {
      return memory.admit({ namespace: 'team', sha256: SHA256, counted: 'all', ...request }, 'away');
    } catch (error) {
      if (error instanceof ApiError) return { code: error.code, text: error.message };
      throw error;
    }
  }

  it('calls its deployments alone', () => {
    const deployments = ['chat'];
    expect(ask({ deployments }, { deployment: 'film' })).to.include({ code: 'permission_denied' });
    expect(ask({ deployments }, { deployment: 'chat' })).to.deep.include({ scope: deployments });
  });

  it('goes on with a budget that was not used up, and is charged for it later', () => {
    expect(ask({ budgets: budgetsOf({ leftMicros: 1 }) })).to.deep.include({
      budgets: { text: TEXT, leftMicros: 0, asOf: 0 },
    });
  });

  it('waits for the next period of a budget that was used up', () => {
    const last = { verdict: 'credit', creditLeft: false, budgets: budgetsOf() } as const;
    expect(ask(last))
      .to.have.property('text')
      .that.matches(/^The budget of this API key is used up/);
    expect(ask(last, { counted: 'no' })).to.include({ keyName: 'alice' });
    expect(ask(last, { now: BEFORE + 1 })).to.include({ keyName: 'alice' });
  });

  it('waits on without credit, also in the next period', () => {
    const last = {
      verdict: 'credit',
      creditLeft: false,
      budgets: budgetsOf({ isCreditGone: true }),
    } as const;
    for (const now of [BEFORE, BEFORE + 1])
      expect(ask(last, { now }))
        .to.have.property('text')
        .that.matches(/workspace's credit/);
  });
});
