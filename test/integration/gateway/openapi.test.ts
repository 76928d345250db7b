import { expect } from 'chai';
import { startTextFixture, type TextFixture } from '../../support/text-fixture.ts';

describe('GET /openapi.json', () => {
  let fixture: TextFixture;
  before(async () => {
    fixture = await startTextFixture();
  });
  after(() => fixture?.stop());

  const get = (headers: Record<string, string>) =>
    fetch(`${fixture.endpoint.origin}/openapi.json`, { headers });

  it('answers the document of this deployment', async () => {
    const response = await get({ authorization: `Bearer ${fixture.key}` });
    expect(response.status).to.equal(200);
    expect(response.headers.get('content-type')).to.match(/^application\/json/);
    const document = (await response.json()) as { openapi: string; paths: object; servers: object };
    expect(document).to.deep.include({ openapi: '3.1.0', servers: [{ url: '/' }] });
    expect(document.paths).to.include.keys('/v1/chat/completions', '/v1/models');
    expect(document.paths).not.to.include.keys('/v1/videos');
  });

  it('wants a key, as the list of models does', async () => {
    expect((await get({})).status).to.equal(401);
    expect((await get({ authorization: 'Bearer sk-unknown' })).status).to.equal(401);
  });

  it('does not count against the key’s limits', async () => {
    const response = await get({ authorization: `Bearer ${fixture.key}` });
    expect(response.headers.get('x-ratelimit-remaining')).to.equal(null);
  });
});
