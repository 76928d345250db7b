/** Reranking by the real engine, through the gateway and directly. */
import { expect } from 'chai';
import { ask, type Fields, strip } from './answers.ts';
import { readEngine } from './catalog.ts';
import { type ServedModel, serveModel } from './served-model.ts';

const { name, engine } = readEngine();
const QUERY = 'the quick brown fox';
const TEXTS = ['the lazy dog', 'a fox jumps', 'the world of small models', 'hello'];

interface Ranked {
  index: number;
  relevance_score: number;
  document?: { text: string };
}

describe(`reranking by ${name}`, () => {
  let served: ServedModel;
  before(async function () {
    this.timeout(660_000);
    served = await serveModel(name, { kind: 'Rerank' });
  });
  after(() => served?.stop());

  const rerank = async (body: Fields) => {
    const { status, body: answer } = await ask(served.gateway, '/rerank', body);
    expect(status, JSON.stringify(answer)).to.equal(200);
    return { ...answer, results: answer.results as Ranked[] };
  };
  const scoresOf = (results: Ranked[]) =>
    new Map(results.map(({ index, relevance_score: score }) => [index, score]));

  it('has the engine’s own scores, the best first', async () => {
    const direct = await ask(served.engine, '/rerank', { query: QUERY, documents: TEXTS });
    expect(direct.status, JSON.stringify(direct.body)).to.equal(200);
    const { results } = await rerank({ query: QUERY, documents: TEXTS });
    expect(scoresOf(results)).to.deep.equal(scoresOf(direct.body.results as Ranked[]));
    expect(new Set(scoresOf(results).values())).to.have.length(TEXTS.length);
    const scores = results.map(({ relevance_score: score }) => score);
    expect(scores).to.deep.equal(scores.toSorted((a, b) => b - a));
    expect(results.map(({ index, document }) => document?.text === TEXTS[index])).to.not.include(false);
  });

  it('has as many as were asked for, and tells the tokens that the engine read', async () => {
    const direct = await ask(served.engine, '/rerank', { query: QUERY, documents: TEXTS });
    const { results, usage } = (await rerank({
      query: QUERY,
      documents: TEXTS,
      top_n: 2,
      return_documents: false,
    })) as { results: Ranked[]; usage?: Fields };
    expect(results).to.have.length(2);
    expect(results[0]).to.not.have.property('document');
    const { total_tokens: read } = direct.body.usage as { total_tokens: number };
    expect(usage).to.deep.equal({ prompt_tokens: read, total_tokens: read });
  });

  const oneWithSeveral: Fields = { text_1: QUERY, text_2: TEXTS };
  const pairs: [string, Fields][] = [
    ['one with several', oneWithSeveral],
    ['one with one', { text_1: QUERY, text_2: TEXTS[0] }],
    ['as many as there are', { text_1: TEXTS, text_2: TEXTS.toReversed() }],
  ];
  if (!engine.hasScores)
    it('scores one with several as the engine itself ranks them', async () => {
      const direct = await ask(served.engine, '/rerank', { query: QUERY, documents: TEXTS });
      const { status, body } = await ask(served.gateway, '/score', oneWithSeveral);
      expect(status, JSON.stringify(body)).to.equal(200);
      const scores = (body.data as { index: number; score: number }[]).map(
        ({ index, score }) => [index, score] as const,
      );
      expect(new Map(scores)).to.deep.equal(scoresOf(direct.body.results as Ranked[]));
    });
  for (const [title, body] of engine.hasScores ? pairs : [])
    it(`scores pairs as the engine itself does: ${title}`, async () => {
      const direct = await ask(served.engine, '/score', body);
      expect(direct.status, JSON.stringify(direct.body)).to.equal(200);
      expect(strip(await ask(served.gateway, '/score', body))).to.deep.equal(strip(direct));
    });

  it('counts tokens of a text', async () => {
    const { status, body } = await ask(served.gateway, '/../tokenize', { prompt: QUERY });
    expect(status, JSON.stringify(body)).to.equal(200);
    expect(body.count).to.equal((body.tokens as number[]).length);
  });
});
