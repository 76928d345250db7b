import { expect } from 'chai';
import { type AdmissionTerms, decideAdmission } from '../../../../gateway/auth/admission-decision.ts';
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

  it('adds the tokens that are not settled yet', () => {
    expect(decide({}, { unsettled: 499 })).to.equal(null);
    expect(decide({}, { unsettled: 500 })!.retryAfter).to.equal(4_000);
  });
});
