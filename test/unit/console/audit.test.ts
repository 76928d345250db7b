import { expect } from 'chai';
import { describeChange } from '../../../console/server/http/audit.ts';

describe("the console's audit", () => {
  const BASE = '/api/namespaces';

  it('tells what is changed, whatever it is called', () => {
    const change = { resource: 'deployments', namespace: 'team' };
    expect(describeChange('DELETE', `${BASE}/team/deployments/dry-run`, null)).to.deep.equal({
      ...change,
      action: 'delete',
      name: 'dry-run',
    });
    expect(describeChange('PATCH', `${BASE}/team/deployments/v1`, null)).to.include({ action: 'update' });
    expect(describeChange('POST', `${BASE}/v1/keys`, { name: 'laptop' })).to.deep.equal({
      action: 'create',
      resource: 'keys',
      namespace: 'v1',
      name: 'laptop',
    });
    expect(describeChange('POST', `${BASE}/v1/webhooks/v1/test`, null)).to.include({ action: 'test' });
  });

  it('tells how many requests were canceled at once', () => {
    const canceled = { canceled: 200, before: 5, hasMore: true };
    expect(describeChange('POST', `${BASE}/team/requests/film/cancel-queued`, canceled)).to.deep.equal({
      action: 'cancel-queued',
      resource: 'requests',
      namespace: 'team',
      name: 'film',
      canceled: 200,
    });
  });

  it('tells of a sign-in by OIDC once it has come back', () => {
    expect(describeChange('POST', '/api/oidc', { url: 'https://id.example.com' })).to.equal(null);
    expect(describeChange('GET', '/api/oidc/callback', null)).to.deep.equal({
      action: 'sign-in',
      resource: 'session',
    });
  });

  it('leaves out reads, dry runs and calls of models', () => {
    for (const [method, path] of [
      ['GET', 'team/keys'],
      ['POST', 'team/deployments/dry-run'],
      ['POST', 'team/deployments/chat/dry-run'],
      ['POST', 'team/deployments/chat/v1/chat/completions'],
    ] as const)
      expect(describeChange(method, `${BASE}/${path}`, null), path).to.equal(null);
  });
});
