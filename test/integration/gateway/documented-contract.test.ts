import { expect } from 'chai';
import { readEnvelope, startTextFixture, type TextFixture } from '../../support/text-fixture.ts';

const ROUTES: [kind: 'LLM' | 'Embedding', path: string, body: object, missing: string][] = [
  ['LLM', '/v1/chat/completions', { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 1 }, 'messages'],
  ['LLM', '/v1/completions', { prompt: 'Hi', max_tokens: 1 }, 'prompt'],
  ['Embedding', '/v1/embeddings', { input: 'Hi' }, 'input'],
];

describe('text endpoints, as the API documents them', () => {
  const fixtures = new Map<string, TextFixture>();
  before(async () => {
    for (const kind of ['LLM', 'Embedding'] as const) fixtures.set(kind, await startTextFixture({ kind }));
  });
  after(async () => {
    for (const fixture of fixtures.values()) await fixture.stop();
  });

  for (const [kind, path, body, missing] of ROUTES)
    describe(path, () => {
      const post = (change: object = {}, key?: string) =>
        fixtures.get(kind)!.post(path, { ...body, ...change }, { key });

      it('needs no model, takes its own, and answers 400 to any other', async () => {
        const { modelId } = fixtures.get(kind)!.endpoint.config;
        for (const model of [undefined, modelId]) {
          const response = await post({ model });
          expect(response.status).to.equal(200);
          expect(await response.json()).to.include({ model: modelId });
        }
        const other = await readEnvelope(await post({ model: 'other' }));
        expect([other.status, other.code]).to.deep.equal([400, 'model_mismatch']);
        expect(other.message).to.contain(modelId);
      });

      it('shows what is left of the minute, and answers 429 with Retry-After when nothing is', async () => {
        const key = await fixtures.get(kind)!.endpoint.makeKey({ rpm: 1 });
        const { status, headers } = await post({}, key);
        expect([status, headers.get('x-ratelimit-remaining')]).to.deep.equal([200, '0']);
        expect(headers.get('x-ratelimit-reset')).to.match(/^\d+$/);
        const refused = await post({}, key);
        const { error } = (await refused.json()) as { error: { type: string } };
        expect([refused.status, error.type]).to.deep.equal([429, 'rate_limit_error']);
        expect(refused.headers.get('retry-after')).to.match(/^\d+$/);
      });

      it('counts the tokens that the engine’s usage says', async () => {
        const key = await fixtures.get(kind)!.endpoint.makeKey({ tpd: 1 });
        expect((await post({}, key)).status).to.equal(200);
        expect((await post({}, key)).status).to.equal(429);
      });

      it(`answers 400 without ${missing}, and to nothing that it does not know`, async () => {
        const bare = await readEnvelope(await post({ [missing]: undefined }));
        expect([bare.status, bare.code]).to.deep.equal([400, 'missing_required_parameter']);
        expect(bare.message).to.contain(missing);
        const unknown = { logprobs: null, user: 'me', seed: 1, no_such_field: { of: ['anybody'] } };
        expect((await post(unknown)).status).to.equal(200);
        const { last } = await fixtures.get(kind)!.simulator.readControl();
        expect(last!.body).to.deep.include(unknown);
      });
    });

  it('lists the one model, with all fields of the Model object and no others of media', async () => {
    for (const { endpoint, key } of fixtures.values()) {
      const response = await fetch(`${endpoint.origin}/v1/models`, {
        headers: { authorization: `Bearer ${key}` },
      });
      const { object, data } = (await response.json()) as { object: string; data: Record<string, unknown>[] };
      expect([response.status, object, data.length]).to.deep.equal([200, 'list', 1]);
      const [model] = data;
      expect(model).to.include({ id: endpoint.config.modelId, object: 'model' });
      for (const name of ['display_name', 'owned_by']) expect(model![name], name).to.be.a('string');
      expect(model!.created).to.satisfy(Number.isInteger);
      expect(model!.permission).to.be.an('array');
      expect(model).to.not.have.property('supported_parameters');
    }
  });
});
