import { expect } from 'chai';
import type { ModelKind } from '../../../api/engine-presets.ts';
import { startScriptedEngine, startTextEndpoint } from '../../support/text-endpoint.ts';
import { readEnvelope, startTextFixture, type TextFixture } from '../../support/text-fixture.ts';

/** More than is parsed at once. */
const LONG = Array.from({ length: 20_000 }, (_, index) => index / 7);
const embeddings = (...vectors: unknown[]) => ({
  object: 'list',
  data: vectors.map((embedding, index) => ({ object: 'embedding', index, embedding })),
  usage: { prompt_tokens: 5, total_tokens: 5 },
});

describe('an engine that returns something other than one result for each input', () => {
  let fixture: TextFixture;
  before(async () => {
    fixture = await startTextFixture();
  });
  after(() => fixture.stop());

  async function ask(
    settings: { kind: ModelKind; enginePreset: string },
    { path, body, answer }: { path: string; body: object; answer: unknown },
  ) {
    const engine = await startScriptedEngine((req, res) => {
      req.resume().on('end', () => {
        res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
      });
    });
    const { connection } = fixture;
    const endpoint = await startTextEndpoint({ connection, engineURL: engine.url, settings });
    try {
      const response = await fetch(`${endpoint.origin}${path}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${await endpoint.makeKey()}`,
          'content-type': 'application/json',
          'x-berth-receipt': 'true',
        },
        body: JSON.stringify(body),
      });
      return await readEnvelope(response);
    } finally {
      await endpoint.stop();
      await engine.stop();
    }
  }

  const vectors: [string, unknown, string][] = [
    ['null in a vector', embeddings([1, 2], [1, null]), '`input[1]`'],
    ['null in a long vector', embeddings(LONG, [...LONG.slice(1), null]), '`input[1]`'],
    ['one vector for two inputs', embeddings([1, 2]), '`input[1]`'],
  ];
  for (const enginePreset of ['tei', 'llama-cpp', 'sglang', 'vllm'])
    for (const encoding of ['float', 'base64'])
      it(`of ${enginePreset} is an error that costs nothing, wanted as ${encoding}`, async () => {
        for (const [what, answer, name] of vectors) {
          const body = { input: ['a', 'b'], encoding_format: encoding };
          const { status, code, message, headers } = await ask(
            { kind: 'Embedding', enginePreset },
            { path: '/v1/embeddings', body, answer },
          );
          expect([status, code], what).to.deep.equal([502, 'upstream_error']);
          expect(message, what).to.include(name);
          expect(headers.get('x-berth-tokens'), what).to.equal(null);
        }
      });

  it('is an error of each route that scores', async () => {
    const answer = [{ index: 0, score: 0.5 }];
    for (const [path, body, name] of [
      ['/v1/rerank', { query: 'a', documents: ['b', 'c'] }, '`documents[1]`'],
      ['/v2/rerank', { query: 'a', documents: ['b', 'c'] }, '`documents[1]`'],
      ['/v1/score', { text_1: 'a', text_2: ['b', 'c'] }, '`text_2[1]`'],
    ] as const) {
      const settings = { kind: 'Rerank', enginePreset: 'tei' } as const;
      const response = await ask(settings, { path, body, answer }).catch(() => null);
      expect(response, path).to.include({ status: 502 });
      expect(response!.message, path).to.include(name);
    }
  });
});
