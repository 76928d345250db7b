import { expect } from 'chai';
import { readEnvelope, startTextFixture, type TextFixture } from '../../support/text-fixture.ts';

describe('a deployment whose engine serves some of the text routes', () => {
  let fixture: TextFixture;
  before(async () => {
    fixture = await startTextFixture({ settings: { enginePreset: 'custom', routes: ['/v1/completions'] } });
  });
  after(() => fixture?.stop());

  it('serves these', async () => {
    const response = await fixture.post('/v1/completions', { prompt: 'Hi' });
    expect(response.status).to.equal(200);
  });

  it('answers 404 to the others and names what it serves, without counting the request', async () => {
    const error = await readEnvelope(await fixture.chat());
    expect([error.status, error.code]).to.deep.equal([404, 'not_found']);
    expect(error.message).to.match(
      /custom.*does not serve \/v1\/chat\/completions.*serves \/v1\/completions/,
    );
    expect(error.headers.get('x-ratelimit-remaining')).to.equal(null);
    expect((await fixture.simulator.readControl()).requests).to.equal(1);
  });

  it('still says that a route is for another kind of model', async () => {
    const error = await readEnvelope(await fixture.post('/v1/embeddings', { input: 'Hi' }));
    expect([error.status, error.code]).to.deep.equal([400, 'wrong_modality']);
  });

  it('lists its routes in the model object', async () => {
    const response = await fetch(`${fixture.endpoint.origin}/v1/models`, {
      headers: { authorization: `Bearer ${fixture.key}` },
    });
    const { data } = (await response.json()) as { data: { routes: string[] }[] };
    expect(data[0]!.routes).to.deep.equal(['/v1/completions']);
  });
});
