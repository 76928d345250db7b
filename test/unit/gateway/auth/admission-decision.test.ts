import { expect } from 'chai';
import { type AdmissionTerms, decideAdmission } from '../../../../gateway/auth/admission-decision.ts';
import { refuseCharge } from '../../../../gateway/auth/key-scope.ts';
import type { Admission } from '../../../../redis/admission/admission-calls.ts';

const NOW = 1_000_000;
const ADMITTED: Admission = {
  verdict: 'ok',
  keyName: 'alice',
  expiresAt: 0,
  creditLeft: true,
  rpm: { limit: 60, remaining: 10, resetAt: 1_030 },
  tpd: { limit: 1_000, used: 500, resetAt: 5_000 },
  retryAfter: 0,
  priority: 0,
  lease: null,
  budgets: null,
  deployments: null,
};
const FULL_MINUTE = { limit: 60, remaining: 0, resetAt: 1_030 };
const USED_DAY = { limit: 1_000, used: 1_000, resetAt: 5_000 };

describe('the decision on an admission', () => {
  const decide = (admission: Partial<Admission>, terms: Partial<AdmissionTerms> = {}) => {
    const refusal = decideAdmission(
      { ...ADMITTED, ...admission },
      { spends: true, minute: 'remaining', now: NOW, ...terms },
    );
    return refusal && { code: refusal.code, retryAfter: refusal.details.retryAfter, text: refusal.message };
  };

  it('admits what has a key, credit, tokens and a request left', () => {
    expect(decide({})).to.equal(null);
    expect(decide({}, { minute: 'verdict' })).to.equal(null);
  });

  it('names the key first, then credit, then the day, then the minute', () => {
    const all: Partial<Admission> = {
      verdict: 'disabled',
      creditLeft: false,
      tpd: USED_DAY,
      rpm: FULL_MINUTE,
    };
    expect(decide(all)!.text).to.equal('The API key is disabled.');
    expect(decide({ ...all, verdict: 'ok' })!.code).to.equal('insufficient_quota');
    const limited = { tpd: USED_DAY, rpm: FULL_MINUTE };
    expect(decide(limited)).to.deep.equal({
      code: 'rate_limit_exceeded',
      retryAfter: 4_000,
      text: 'This API key has reached its limit of 1000 tokens per day; it resets in 4000 s.',
    });
    expect(decide({ rpm: FULL_MINUTE })).to.deep.equal({
      code: 'rate_limit_exceeded',
      retryAfter: 30,
      text: 'This API key has reached its limit of 60 requests per minute; try again in 30 s.',
    });
  });

  it('asks for neither credit nor tokens of what spends nothing', () => {
    expect(decide({ creditLeft: false, tpd: USED_DAY }, { spends: false })).to.equal(null);
  });

  it('admits the last request of a minute that counted it, and refuses the one after it', () => {
    expect(decide({ rpm: FULL_MINUTE }, { minute: 'verdict' })).to.equal(null);
    const refused = decide({ verdict: 'rpm', rpm: FULL_MINUTE, retryAfter: 12 }, { minute: 'verdict' });
    expect(refused!.retryAfter).to.equal(12);
  });

  it('tells the time of the limit that it names, where the minute was full as well', () => {
    const refused = decide(
      { verdict: 'rpm', rpm: FULL_MINUTE, retryAfter: 12 },
      { minute: 'verdict', unsettled: 500 },
    );
    expect(refused!.text).to.match(/resets in 4000 s/);
    expect(refused!.retryAfter).to.equal(4_000);
  });

  it('refuses the key at a verdict that it does not know', () => {
    expect(decide({ verdict: 'revoked' as Admission['verdict'] })!.code).to.equal('invalid_api_key');
  });

  const tightest = {
    kind: 'owner',
    name: 'search',
    micros: 5_000_000,
    period: 'Week',
    endsAt: 1_796_083_200,
  } as const;
  const budgets = { text: 'owner:search,5000000,Week', tightest, leftMicros: 0, isCreditGone: false };

  it('names the budget that is used up, and when its next period begins', () => {
    const used: Partial<Admission> = { verdict: 'credit', creditLeft: false, budgets };
    expect(decide(used)).to.deep.equal({
      code: 'insufficient_quota',
      retryAfter: undefined,
      text: 'The budget of the owner search of this API key is used up: 5 per week. The next period begins at 2026-12-01T00:00:00Z.',
    });
    const own = { ...budgets, tightest: { ...tightest, kind: 'key' as const } };
    expect(decide({ ...used, budgets: own })!.text).to.match(
      /^The budget of this API key is used up: 5 per week\./,
    );
    expect(decide(used, { spends: false })).to.equal(null);
    expect(decide({ ...used, budgets: { ...budgets, leftMicros: 1 } })!.text).to.match(/workspace's credit/);
  });

  it('says what a request costs and what is left, where its price does not fit', () => {
    const own = { ...tightest, kind: 'key' as const };
    const refusal = refuseCharge({ ...own, leftMicros: 500_000 }, 1_500_000);
    expect([refusal.status, refusal.code]).to.deep.equal([402, 'insufficient_quota']);
    expect(refusal.message).to.equal(
      'This request costs 1.5, but the budget of this API key has 0.5 left of 5 per week. The next period begins at 2026-12-01T00:00:00Z.',
    );
    for (const leftMicros of [0, undefined])
      expect(refuseCharge({ ...own, ...(leftMicros === 0 && { leftMicros }) }, 1).message).to.match(
        /^The budget of this API key is used up: 5 per week\./,
      );
  });

  it('adds the money that is not settled yet', () => {
    const left: Partial<Admission> = { budgets: { ...budgets, leftMicros: 10 } };
    expect(decide(left, { unsettledMicros: 9 })).to.equal(null);
    expect(decide(left, { unsettledMicros: 10 })!.code).to.equal('insufficient_quota');
  });

  it('refuses a deployment that the key may not call, and names those that it may', () => {
    const scoped: Partial<Admission> = { deployments: ['chat', 'embed'], creditLeft: false };
    expect(decide(scoped, { deployment: 'film', spends: false })).to.deep.equal({
      code: 'permission_denied',
      retryAfter: undefined,
      text: 'This API key may not call the deployment film. It may call: chat, embed.',
    });
    const many = Array.from({ length: 20 }, (_, index) => `d${index}`);
    expect(decide({ deployments: many }, { deployment: 'film' })!.text).to.match(
      /may call: d0, d1, d2, d3, d4 and 15 more\.$/,
    );
    expect(decide(scoped, { deployment: 'chat' })!.code).to.equal('insufficient_quota');
    expect(decide({ deployments: ['chat'] }, { deployment: 'chat' })).to.equal(null);
  });

  it('adds the tokens that are not settled yet', () => {
    expect(decide({}, { unsettled: 499 })).to.equal(null);
    expect(decide({}, { unsettled: 500 })!.retryAfter).to.equal(4_000);
  });
});
