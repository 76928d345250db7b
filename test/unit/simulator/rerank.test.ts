import { expect } from 'chai';
import { MODEL, type RunningSimulator as Running, RunningSimulator } from './running-simulator.ts';

interface Results {
  model: string;
  results: { index: number; relevance_score: number; document: { text: string } }[];
  usage: { prompt_tokens: number; total_tokens: number };
}

describe('the simulated reranker', () => {
  let simulator: Running;
  before(async () => {
    simulator = await RunningSimulator.start({ kind: 'Rerank' });
  });
  after(() => simulator.stop());

  const ask = async <T>(path: string, body: object): Promise<T> => {
    const response = await simulator.post(path, body);
    expect(response.status).to.equal(200);
    return (await response.json()) as T;
  };
  const documents = ['Bread is baked at night.', 'Ships lie at a berth.', 'Ships lie still.'];

  it('puts what shares words with the query first, with scores between 0 and 1', async () => {
    const { model, results, usage } = await ask<Results>('/v1/rerank', {
      query: 'Where do ships lie at a berth?',
      documents,
    });
    expect(model).to.equal(MODEL);
    expect(results.map(({ index }) => index)).to.deep.equal([1, 2, 0]);
    expect(results[0]!.document.text).to.equal(documents[1]);
    for (const { relevance_score: score } of results) expect(score).to.be.within(0, 1);
    expect(usage.prompt_tokens).to.equal(usage.total_tokens).and.to.be.greaterThan(0);
  });

  it('answers as many as are wanted', async () => {
    const { results } = await ask<Results>('/v1/rerank', { query: 'Ships', documents, top_n: 1 });
    expect(results).to.have.length(1);
  });

  it('scores one text with many, or each with its own', async () => {
    const { data: many } = await ask<{ data: object[] }>('/v1/score', { text_1: 'Ships', text_2: documents });
    const { data: pairs } = await ask<{ data: object[] }>('/v1/score', { queries: documents, documents });
    expect([many.length, pairs.length]).to.deep.equal([3, 3]);
    const refused = await simulator.post('/v1/score', { text_1: ['a', 'b'], text_2: documents });
    expect(refused.status).to.equal(400);
  });

  it('counts as an inference call', async () => {
    const { requests } = await simulator.readControl();
    await ask('/v1/rerank', { query: 'Ships', documents });
    const after = await simulator.readControl();
    expect(after.requests).to.equal(requests + 1);
    expect(after.recent.at(-1)).to.include({ path: '/v1/rerank', prompt: 'Ships' });
  });

  for (const [body, named] of [
    [{ documents }, 'query'],
    [{ query: 'a' }, 'documents'],
    [{ query: 'a', documents: [1] }, 'documents'],
    [{ query: 'a', documents, top_n: -1 }, 'top_n'],
  ] as const)
    it(`refuses ${JSON.stringify(body)} and names ${named}`, async () => {
      const response = await simulator.post('/v1/rerank', body);
      expect(response.status).to.equal(400);
      expect(await response.text()).to.include(named);
    });
});

describe('the simulated tokenizer', () => {
  let simulator: Running;
  before(async () => {
    simulator = await RunningSimulator.start();
  });
  after(() => simulator.stop());

  const post = async <T>(path: string, body: object): Promise<T> => {
    const response = await simulator.post(path, body);
    expect(response.status).to.equal(200);
    return (await response.json()) as T;
  };
  interface Tokens {
    count: number;
    tokens: number[];
    token_strs: string[] | null;
    max_model_len: number;
  }

  for (const prompt of ['The ships lie at a berth.', '', 'a', 'naïve 船が停泊する 🚢!', '\u0000\n~'])
    it(`takes ${JSON.stringify(prompt)} apart and puts it together again`, async () => {
      const {
        count,
        tokens,
        token_strs: texts,
      } = await post<Tokens>('/tokenize', {
        prompt,
        return_token_strs: true,
      });
      expect(tokens).to.have.length(count);
      expect(texts!.join('')).to.equal(prompt);
      for (const token of tokens) expect(token).to.be.lessThan(2 ** 31);
      expect(await post('/detokenize', { tokens })).to.deep.equal({ prompt });
    });

  it('counts what a completion of the same prompt counts', async () => {
    const prompt = 'The ships lie at a berth.';
    const { count } = await post<Tokens>('/tokenize', { prompt });
    const { usage } = await post<{ usage: { prompt_tokens: number } }>('/v1/completions', { prompt });
    expect(count).to.equal(usage.prompt_tokens);
  });

  it('tells the length of the context, and knows messages', async () => {
    const messages = [{ role: 'user', content: 'Hello' }];
    const { count, max_model_len: length } = await post<Tokens>('/tokenize', { messages });
    expect(count).to.be.greaterThan(1);
    expect(length).to.be.greaterThan(1000);
  });

  it('has a word for ids that it never made', async () => {
    const { prompt } = await post<{ prompt: string }>('/detokenize', { tokens: [1, 2, 2 ** 31 - 1] });
    expect(prompt).to.match(/^[a-z]+$/);
  });

  it('refuses what are no tokens', async () => {
    for (const tokens of [undefined, 'a', [-1], ['a'], [1.5]])
      expect((await simulator.post('/detokenize', { tokens })).status).to.equal(400);
  });
});
