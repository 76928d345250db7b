import { expect } from 'chai';
import { startTextFixture, type TextFixture } from '../../support/text-fixture.ts';

const PAGE = 'https://app.example.com';

describe('a page of another origin', () => {
  let fixture: TextFixture;
  before(async () => {
    fixture = await startTextFixture({ settings: { corsOrigins: [PAGE] } });
  });
  after(() => fixture?.stop());

  const call = (init: RequestInit & { headers?: Record<string, string> }, target = fixture) =>
    fetch(`${target.endpoint.origin}/v1/chat/completions`, init);
  const preflight = (origin: string, target = fixture) =>
    call(
      {
        method: 'OPTIONS',
        headers: {
          origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'authorization,content-type,x-stainless-os',
        },
      },
      target,
    );

  it('is let in by a preflight without a key', async () => {
    const { status, headers } = await preflight(PAGE);
    expect([status, headers.get('access-control-allow-origin')]).to.deep.equal([204, PAGE]);
    expect(headers.get('access-control-allow-methods')).to.contain('POST');
    expect(headers.get('access-control-allow-headers')).to.contain('x-stainless-os');
    expect(headers.get('vary')).to.equal('origin');
  });

  it('may read answers and errors, their headers too', async () => {
    const headers = { origin: PAGE, 'content-type': 'application/json' };
    const body = JSON.stringify({ messages: [{ role: 'user', content: 'Hi' }], max_tokens: 1 });
    for (const [key, status] of [
      [fixture.key, 200],
      ['sk-unknown', 401],
    ] as const) {
      const answer = await call({
        method: 'POST',
        headers: { ...headers, authorization: `Bearer ${key}` },
        body,
      });
      expect([answer.status, answer.headers.get('access-control-allow-origin')]).to.deep.equal([
        status,
        PAGE,
      ]);
      expect(answer.headers.get('access-control-expose-headers')).to.contain('x-ratelimit-remaining');
      await answer.text();
    }
  });

  it('gets no headers if its origin is not configured, or none is', async () => {
    const closed = await startTextFixture();
    for (const [origin, target] of [
      ['https://evil.example.com', fixture],
      [PAGE, closed],
    ] as const) {
      const { status, headers } = await preflight(origin, target);
      expect([status, headers.get('access-control-allow-origin')]).to.deep.equal([405, null]);
    }
    await closed.stop();
  });

  it('may be any where all are named', async () => {
    const open = await startTextFixture({ settings: { corsOrigins: ['*'] } });
    const { status, headers } = await preflight('https://anybody.example.com', open);
    expect([status, headers.get('access-control-allow-origin')]).to.deep.equal([204, '*']);
    await open.stop();
  });
});
