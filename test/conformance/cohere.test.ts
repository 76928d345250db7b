/** Reranking through Cohere's client for Node, in both versions of its API. */
import { expect } from 'chai';
import { itSimulated, type LocalStack } from '../support/local-stack.ts';
import { shareStack } from './shared-stack.ts';

/** As a string that TypeScript does not resolve: its 1,600 files of types would slow down each type check. */
const PACKAGE: string = 'cohere-ai';

interface Answer {
  id?: string;
  results: { index: number; relevanceScore: number; document?: { text: string } }[];
  meta?: { apiVersion?: { version: string }; tokens?: { inputTokens?: number } };
}
interface Client {
  rerank(request: object, options?: { maxRetries?: number }): Promise<Answer>;
}
interface CohereError extends Error {
  statusCode: number;
  body: { message?: string; error: { code: string; message: string } };
}

const documents = ['Bread is baked at night.', 'Ships lie at a berth.', 'Ships lie still.'];
const question = { query: 'Where do ships lie at a berth?', documents };
const once = { maxRetries: 0 };

describe('Cohere’s client', () => {
  let stack: LocalStack;
  let model: string;
  let open: (version: 'v1' | 'v2', options?: object) => Client;

  before(async () => {
    stack = await shareStack();
    const { baseURL, apiKey: token, modelId } = stack.find('Rerank');
    const { CohereClient, CohereClientV2 } = await import(PACKAGE);
    model = modelId;
    const environment = new URL(baseURL).origin;
    open = (version, options = {}) =>
      new (version === 'v1' ? CohereClient : CohereClientV2)({ token, environment, ...options });
  });

  for (const version of ['v1', 'v2'] as const)
    describe(`with its API’s ${version}`, () => {
      it('gets the best texts first, as many as it wants', async () => {
        const { id, results } = await open(version).rerank({ ...question, model, topN: 2 }, once);
        expect(id).to.be.a('string');
        expect(results).to.have.length(2);
        expect(results[0]!.relevanceScore).to.be.at.least(results[1]!.relevanceScore);
      });

      // Other models have random weights, and other ranges of scores.
      itSimulated('gets scores between 0 and 1, the highest for what is relevant', async () => {
        const { results } = await open(version).rerank({ ...question, model }, once);
        expect(results.map(({ index }) => index)).to.deep.equal([1, 2, 0]);
        for (const { relevanceScore } of results) expect(relevanceScore).to.be.within(0, 1);
      });

      it('may be given the base URL of all other clients, which ends in /v1', async () => {
        const client = open(version, { environment: stack.find('Rerank').baseURL });
        expect((await client.rerank({ ...question, model }, once)).results).to.have.length(3);
      });

      it('throws what was refused, with the message', async () => {
        const refused = async (client: Client, request: object): Promise<CohereError> => {
          const answer = await client.rerank(request, once).catch((error: CohereError) => error);
          expect(answer).to.be.instanceOf(Error);
          return answer as CohereError;
        };
        const wrong = await refused(open(version), { ...question, model: 'another' });
        expect([wrong.statusCode, wrong.body.error.code]).to.deep.equal([400, 'model_mismatch']);
        if (version === 'v2') expect(wrong.body.message).to.equal(wrong.body.error.message);
        const unknown = await refused(open(version, { token: 'sk-nobody' }), { ...question, model });
        expect(unknown.statusCode).to.equal(401);
      });
    });

  it('gets texts by the first version where it asks for them, and none by the second, which cannot ask', async () => {
    const readTexts = async (version: 'v1' | 'v2', returnDocuments?: boolean) => {
      const { results } = await open(version).rerank({ ...question, model, returnDocuments }, once);
      return results.map(({ document }) => document?.text);
    };
    const none = documents.map(() => undefined);
    expect(await readTexts('v1', true)).to.have.members(documents);
    expect(await readTexts('v1', false)).to.deep.equal(none);
    expect(await readTexts('v2')).to.deep.equal(none);
  });

  it('is told the tokens and the version by the second one', async () => {
    const { meta } = await open('v2').rerank({ ...question, model }, once);
    expect(meta?.apiVersion?.version).to.equal('2');
    expect(meta?.tokens?.inputTokens).to.be.greaterThan(0);
  });
});
