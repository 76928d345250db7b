import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { hashApiKey } from '../../api/identity.ts';
import { type Answer, expectError, postChat } from './envelope.ts';
import { apply, findEndpoint, kubectl, waitUntil } from './installation.ts';

describe('a key’s limits', () => {
  const apiKey = `sk-berth-${randomBytes(32).toString('base64url')}`;
  const endpoint = { ...findEndpoint('tiny-chat'), apiKey };

  before(async () => {
    await apply({
      apiVersion: 'berth.dev/v1alpha1',
      kind: 'APIKey',
      metadata: { name: 'e2e-sixty', namespace: 'default' },
      spec: { rpm: 60, sha256: hashApiKey(apiKey) },
    });
    await kubectl('wait', 'apikey/e2e-sixty', '--for=condition=Ready', '--timeout=60s');
    await waitUntil('the gateways to know the key', 30, async () => {
      const response = await fetch(`${endpoint.baseURL}/models`, {
        headers: { authorization: `Bearer ${apiKey}` },
      });
      await response.body?.cancel();
      return response.status === 200;
    });
  });
  after(() => kubectl('delete', 'apikey', 'e2e-sixty', '--ignore-not-found'));

  it('answers 429 to the 61st request in a minute, with both headers and Retry-After', async () => {
    const answers: Answer[] = [];
    while (answers.length < 61) answers.push(await postChat(endpoint));
    expect(answers.slice(0, 60).map(({ status }) => status)).to.deep.equal(Array(60).fill(200));
    const last = answers[60]!;
    expectError(last, 429, 'rate_limit_exceeded');
    expect(last.headers.get('x-ratelimit-remaining')).to.equal('0');
    expect(Number(last.headers.get('x-ratelimit-reset'))).to.be.greaterThan(Date.now() / 1000 - 1);
    expect(Number(last.headers.get('retry-after'))).to.be.within(1, 60);
  });
});
