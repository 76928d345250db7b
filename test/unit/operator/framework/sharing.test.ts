import { expect } from 'chai';
import { shareEqualParts } from '../../../../operator/framework/parsed-store.ts';

describe('What was parsed from an object', () => {
  it('uses the parts of the object that are equal, and keeps what it differs in', () => {
    const source = { spec: { model: { id: 'a' }, limits: { queue: 5 } }, status: { phase: 'Ready' } };
    const parsed = {
      spec: { model: { id: 'a' }, limits: { queue: 5, ttl: '24h' } },
      status: { phase: 'Ready' },
    };
    const shared = shareEqualParts(parsed, source);
    expect(shared).to.deep.equal(parsed);
    expect(shared.spec.model).to.equal(source.spec.model);
    expect(shared.status).to.equal(source.status);
    expect(shared.spec.limits).to.deep.equal({ queue: 5, ttl: '24h' });
  });
});
