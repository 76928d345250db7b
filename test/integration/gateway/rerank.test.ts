import { expect } from 'chai';
import { hashApiKey } from '../../../api/identity.ts';
import { admit } from '../../../redis/admission/admission-calls.ts';
import { publishWorkspace } from '../../../redis/publication/publication.ts';
import { pollUntil } from '../../support/poll.ts';
import { readEnvelope, startTextFixture, type TextFixture } from '../../support/text-fixture.ts';

describe('reranking', () => {
  let fixture: TextFixture;
  before(async () => {
    fixture = await startTextFixture({ kind: 'Rerank' });
  });
  after(() => fixture?.stop());

  const documents = ['Bread is baked at night.', 'Ships dock at a berth.'];
  const rerank = (body: object = {}, init?: { key?: string; signal?: AbortSignal }) =>
    fixture.post('/v1/rerank', { query: 'Where do ships dock?', documents, ...body }, init);
  const readUsed = async (key: string) => {
    const { namespace } = fixture.endpoint.config;
    const request = { namespace, sha256: hashApiKey(key), counted: 'no' } as const;
    return (await admit(fixture.connection.redis, request)).tpd.used;
  };

  it('answers the most relevant text first, in Jina’s schema, under the model’s id', async () => {
    const response = await rerank({ model: fixture.endpoint.config.modelId, top_n: 1 });
    expect(response.status).to.equal(200);
    const answer = (await response.json()) as { model: string; results: object[]; usage: object };
    expect(answer.model).to.equal(fixture.endpoint.config.modelId);
    expect(answer.results).to.have.length(1);
    expect(answer.results[0]).to.deep.include({ index: 1, document: { text: documents[1] } });
    expect(response.headers.get('x-ratelimit-remaining')).to.match(/^\d+$/);
  });

  it('takes its texts as objects, too, and leaves them out of the answer on request', async () => {
    const response = await rerank({
      documents: documents.map((text) => ({ text })),
      return_documents: false,
    });
    const { results } = (await response.json()) as { results: Record<string, unknown>[] };
    expect(results.map(({ document }) => document)).to.deep.equal([undefined, undefined]);
  });

  it('keeps a client’s own priority from the engine', async () => {
    for (const path of ['/v1/rerank', '/v2/rerank']) {
      await fixture.post(path, { query: 'ships', documents, priority: -5, truncate_prompt_tokens: 9 });
      const { last } = await fixture.simulator.readControl();
      expect(last).to.include({ path: '/v1/rerank' });
      expect(last!.body).to.include({ truncate_prompt_tokens: 9 }).and.not.have.property('priority');
    }
  });

  it('answers in the schema of the second version of Cohere’s API, without texts', async () => {
    const question = { query: 'Where do ships dock?', documents, top_n: 1 };
    for (const path of ['/v2/rerank', '/v1/v2/rerank']) {
      const response = await fixture.post(path, question);
      expect(response.status).to.equal(200);
      const { model, results, meta } = (await response.json()) as {
        model: string;
        results: object[];
        meta: { api_version: object; tokens: { input_tokens: number } };
      };
      expect(model).to.equal(fixture.endpoint.config.modelId);
      expect(results).to.have.length(1);
      expect(results[0]).to.have.all.keys('index', 'relevance_score').and.include({ index: 1 });
      expect(meta.api_version).to.deep.equal({ version: '2' });
      expect(meta.tokens.input_tokens).to.be.greaterThan(0);
    }
    const told = await fixture.post('/v2/rerank', { ...question, return_documents: true });
    const { results } = (await told.json()) as { results: object[] };
    expect(results[0]).to.deep.include({ document: { text: documents[1] } });
  });

  it('refuses in Cohere’s words, with the envelope of all others', async () => {
    const response = await fixture.post('/v2/rerank', { query: 'ships' });
    expect(response.status).to.equal(400);
    const { message, error } = (await response.json()) as { message: string; error: { param: string } };
    expect(message).to.include('documents');
    expect(error).to.include({ message, param: 'documents' });
  });

  it('scores pairs', async () => {
    const response = await fixture.post('/v1/score', { text_1: 'ships', text_2: documents });
    const { data } = (await response.json()) as { data: { index: number; score: number }[] };
    expect(data.map(({ index }) => index)).to.deep.equal([0, 1]);
    expect(data[1]!.score).to.be.greaterThan(data[0]!.score);
  });

  it('counts the tokens of scores against the day', async () => {
    const key = await fixture.endpoint.makeKey();
    const pairs = { text_1: 'Where do ships dock?', text_2: documents };
    const response = await fixture.post('/v1/score', pairs, { key });
    const { usage } = (await response.json()) as { usage: { prompt_tokens: number; total_tokens: number } };
    expect(usage.total_tokens).to.be.greaterThan(0);
    await pollUntil(async () => (await readUsed(key)) === usage.total_tokens);
    const poor = await fixture.endpoint.makeKey({ tpd: usage.total_tokens });
    expect((await fixture.post('/v1/score', pairs, { key: poor })).status).to.equal(200);
    await pollUntil(async () => (await readUsed(poor)) === usage.total_tokens);
    expect(await readEnvelope(await fixture.post('/v1/score', pairs, { key: poor }))).to.include({
      status: 429,
    });
  });

  it('counts its tokens against the day', async () => {
    const key = await fixture.endpoint.makeKey();
    const { usage } = (await (await rerank({}, { key })).json()) as { usage: { total_tokens: number } };
    await pollUntil(async () => (await readUsed(key)) === usage.total_tokens);
    await fixture.post('/v2/rerank', { query: 'Where do ships dock?', documents }, { key });
    await pollUntil(async () => (await readUsed(key)) === 2 * usage.total_tokens);
  });

  for (const [body, param] of [
    [{ query: undefined }, 'query'],
    [{ documents: [] }, 'documents'],
    [{ documents: [{ image: 'x' }] }, 'documents'],
    [{ documents: Array.from({ length: 2049 }, () => 'a') }, 'documents'],
    [{ top_n: 0 }, 'top_n'],
    [{ model: 'another' }, 'model'],
  ] as const)
    it(`refuses ${JSON.stringify(body).slice(0, 60)} and names ${param}`, async () => {
      const response = await rerank(body);
      expect(response.status).to.equal(400);
      const { error } = (await response.json()) as { error: { param: string } };
      expect(error.param).to.equal(param);
    });

  it('passes on what the engine complains of, in the envelope', async () => {
    await fixture.simulator.putControl({
      fault: { kind: 'status', status: 422, body: { message: 'too long', type: 'Validation' } },
    });
    const error = await readEnvelope(await rerank());
    expect([error.status, error.code]).to.deep.equal([422, 'invalid_request_error']);
  });

  it('is for reranking models, and says which routes there are', async () => {
    const error = await readEnvelope(await fixture.post('/v1/embeddings', { input: 'a' }));
    expect([error.status, error.code]).to.deep.equal([400, 'wrong_modality']);
    expect(error.message)
      .to.include('is a reranking model')
      .and.to.include('/v1/rerank, /v2/rerank, /v1/score, /tokenize');
  });

  it('frees the engine when its client leaves', async () => {
    await fixture.simulator.putControl({ fault: { kind: 'hang', afterFrames: 0 } });
    const client = new AbortController();
    const request = rerank({}, { signal: client.signal }).catch(() => {});
    await pollUntil(async () => (await fixture.simulator.readControl()).inflight === 1);
    client.abort();
    await request;
    await pollUntil(async () => (await fixture.simulator.readControl()).inflight === 0);
    expect(fixture.endpoint.slots.inflight).to.equal(0);
  });

  it('tokenizes under the key, against requests per minute alone', async () => {
    const key = await fixture.endpoint.makeKey({ tpd: 0, rpm: 2 });
    const { tokens, count } = (await (
      await fixture.post('/tokenize', { prompt: 'Ships lie.' }, { key })
    ).json()) as { tokens: number[]; count: number };
    expect(tokens).to.have.length(count);
    const back = await fixture.post('/detokenize', { tokens }, { key });
    expect(await back.json()).to.deep.equal({ prompt: 'Ships lie.' });
    expect(back.headers.get('x-ratelimit-remaining')).to.equal('0');
    expect((await readEnvelope(await fixture.post('/tokenize', { prompt: 'a' }, { key }))).code).to.equal(
      'rate_limit_exceeded',
    );
    const spending = await fixture.endpoint.makeKey({ tpd: 0 });
    expect((await rerank({}, { key: spending })).status).to.equal(429);
    expect((await fixture.post('/tokenize', { prompt: 'a' }, { key: 'sk-wrong' })).status).to.equal(401);
  });

  it('tokenizes when the credit is used up', async () => {
    const { redis } = fixture.connection;
    const { namespace } = fixture.endpoint.config;
    await publishWorkspace(redis, namespace, { creditMicros: 0 } as Parameters<typeof publishWorkspace>[2]);
    expect((await readEnvelope(await rerank())).code).to.equal('insufficient_quota');
    expect((await fixture.post('/tokenize', { prompt: 'a' })).status).to.equal(200);
  });
});
