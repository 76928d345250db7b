/** The corpus of recorded requests through the gateway: it answers with the engine's status, apart from what it decides itself. */
import { expect } from 'chai';
import { readCorpus } from '../../engines/corpus.ts';
import { sendRequest } from '../../engines/recorded-answers.ts';
import { startTextFixture, type TextFixture } from '../../support/text-fixture.ts';
import { MODEL } from '../../unit/simulator/running-simulator.ts';

const CONTEXT = 8192;
const KINDS = ['LLM', 'Embedding', 'Rerank'] as const;

/** The gateway's status, where it differs from the engine's. */
const OWN: Record<number, [why: string, titles: RegExp][]> = {
  400: [
    [
      'models and kinds are told as wrong requests',
      /: an unknown model$|(by|of|with) an? (chat|embedding) model$/,
    ],
    ['it keeps no responses', /^responses: an unknown previous response$/],
    ['it reads numbers and booleans strictly', /^chat-completions: (max_tokens as text|stream of 1)$/],
    ["it reads Cohere's format", /^rerank: (top_n of 0|one document as a text)$/],
  ],
  200: [
    ['it sets the priority of the key', /^chat-completions: a priority in words$/],
    ["it reads Cohere's format", /^rerank: documents as objects$/],
  ],
  415: [['it uses the status that HTTP has for that', /^chat-completions: a body of another content type$/]],
};

const findOwn = (title: string): string | undefined =>
  Object.entries(OWN).find(([, rows]) => rows.some(([, titles]) => titles.test(title)))?.[0];

for (const kind of KINDS)
  describe(`recorded requests through the gateway, to a model of the kind ${kind}`, () => {
    let fixture: TextFixture;
    before(async () => {
      fixture = await startTextFixture({ kind, settings: { modelId: MODEL, enginePreset: 'vllm' } });
      await fixture.simulator.putControl({ like: 'vllm', contextTokens: CONTEXT, tokens: 200 });
    });
    after(() => fixture?.stop());

    for (const request of readCorpus('vllm', { id: MODEL, context: CONTEXT }))
      if (request.kind === kind)
        it(`has the status of the engine, or its own: ${request.title}`, async () => {
          const direct = await sendRequest(fixture.simulator.url, request);
          const headers = { ...request.headers, authorization: `Bearer ${fixture.key}` };
          const { status } = await sendRequest(fixture.endpoint.origin, { ...request, headers });
          const own = findOwn(request.title);
          expect(status).to.equal(own === undefined ? direct.status : Number(own));
          if (own !== undefined) expect(status).to.not.equal(direct.status);
        });
  });
