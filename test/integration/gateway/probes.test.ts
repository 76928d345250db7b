/** What tools and clients ask of an endpoint besides inference, or by other paths. */
import { request } from 'node:http';
import { expect } from 'chai';
import { startScriptedEngine, startTextEndpoint } from '../../support/text-endpoint.ts';
import { readEnvelope, startTextFixture, type TextFixture } from '../../support/text-fixture.ts';

describe('an endpoint that is probed', () => {
  let fixture: TextFixture;
  let isReady = true;
  before(async () => {
    fixture = await startTextFixture({ engine: { isReady: () => isReady } });
  });
  after(() => fixture?.stop());
  beforeEach(() => {
    isReady = true;
  });

  const ask = (path: string, init: RequestInit = {}) => fetch(`${fixture.endpoint.origin}${path}`, init);
  const withKey = (path: string, headers: Record<string, string> = {}) =>
    ask(path, { headers: { authorization: `Bearer ${fixture.key}`, ...headers } });

  for (const method of ['GET', 'HEAD'])
    it(`answers ${method} /health without a key, and tells nothing else`, async () => {
      for (const [ready, status] of [
        [true, 200],
        [false, 503],
      ] as const) {
        isReady = ready;
        const response = await ask('/health', { method });
        expect([response.status, await response.text()]).to.deep.equal([status, '']);
        expect(response.headers.get('x-request-id')).to.not.equal(null);
        for (const [name] of response.headers)
          expect(name).to.be.oneOf(['connection', 'content-length', 'date', 'keep-alive', 'x-request-id']);
      }
    });

  it('is unhealthy while its deployment is paused', async () => {
    const { connection, simulator, endpoint } = fixture;
    const settings = { ...endpoint.config, paused: true };
    const paused = await startTextEndpoint({ connection, engineURL: simulator.url, settings });
    expect((await fetch(`${paused.origin}/health`)).status).to.equal(503);
    await paused.stop();
  });

  it('allows GET of /health alone', async () => {
    const error = await readEnvelope(await ask('/health', { method: 'POST' }));
    expect([error.status, error.headers.get('allow')]).to.deep.equal([405, 'GET, HEAD']);
  });

  for (const path of ['/', '/api/hello'])
    it(`answers HEAD ${path} to who has no key`, async () => {
      expect((await ask(path, { method: 'HEAD' })).status).to.equal(200);
    });

  it('keeps the key for what tells of the model', async () => {
    for (const path of ['/v1/models', '/tokenizer_info', '/openapi.json'])
      expect((await ask(path)).status, path).to.equal(401);
  });

  it('lists the model as Anthropic does for Anthropic’s clients', async () => {
    const { modelId, displayName, created } = fixture.endpoint.config;
    const model = {
      type: 'model',
      id: modelId,
      display_name: displayName,
      created_at: new Date(created * 1000).toISOString(),
      lifecycle: 'active',
    };
    const headers = { 'anthropic-version': '2023-06-01' };
    const list = (await (await withKey('/v1/models', headers)).json()) as { data: object[] };
    expect(list).to.include({ first_id: modelId, last_id: modelId, has_more: false });
    expect(list).to.not.have.property('object');
    expect(list.data).to.have.length(1);
    expect(list.data[0]).to.include(model);
    expect(await (await withKey(`/v1/models/${modelId}`, headers)).json()).to.include(model);
    const other = await withKey('/v1/models/other', headers);
    expect([other.status, ((await other.json()) as { type: string }).type]).to.deep.equal([404, 'error']);
    const plain = (await (await withKey('/v1/models')).json()) as object;
    expect(plain).to.include({ object: 'list' });
  });

  it('sends who wants a WebSocket to HTTP at once', async () => {
    const status = (path: string) =>
      new Promise<[number | undefined, string | undefined]>((resolve, reject) => {
        const headers = {
          connection: 'Upgrade',
          upgrade: 'websocket',
          'sec-websocket-version': '13',
          'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
          authorization: `Bearer ${fixture.key}`,
        };
        request(`${fixture.endpoint.origin}${path}`, { headers }, (response) => {
          response.resume().on('end', () => resolve([response.statusCode, response.headers.upgrade]));
        })
          .on('error', reject)
          .end();
      });
    for (const path of ['/v1/responses', '/v1/chat/completions'])
      expect(await status(path)).to.deep.equal([426, 'HTTP/1.1']);
    expect(await status('/v1/realtime')).to.deep.equal([404, undefined]);
    expect(await status('/v1/models')).to.deep.equal([200, undefined]);
  });

  it('shows the settings of the tokenizer, and asks the engine once for all', async () => {
    const answers = await Promise.all([withKey('/tokenizer_info'), withKey('/tokenizer_info')]);
    for (const answer of answers) {
      expect([answer.status, answer.headers.get('content-type')]).to.deep.equal([
        200,
        'application/json; charset=utf-8',
      ]);
      expect(answer.headers.get('x-ratelimit-remaining')).to.not.equal(null);
      expect(await answer.json()).to.include({ tokenizer_class: 'SimulatorTokenizer' });
    }
  });

  const answers: [string, number, string, number, string][] = [
    ['does not have it', 404, '{"detail":"Not Found"}', 404, 'not_found'],
    ['fails', 500, 'no', 502, 'upstream_error'],
    ['answers something else', 200, '[1]', 502, 'upstream_error'],
    ['answers without an end', 200, `{"a":"${'x'.repeat(1024 * 1024)}"}`, 502, 'upstream_error'],
  ];
  for (const [what, status, body, expected, code] of answers)
    it(`tells that the engine ${what}, where its tokenizer is asked for`, async () => {
      const engine = await startScriptedEngine((_, res) => res.writeHead(status).end(body));
      const endpoint = await startTextEndpoint({ connection: fixture.connection, engineURL: engine.url });
      const headers = { authorization: `Bearer ${await endpoint.makeKey()}` };
      const error = await readEnvelope(await fetch(`${endpoint.origin}/tokenizer_info`, { headers }));
      expect([error.status, error.code]).to.deep.equal([expected, code]);
      await endpoint.stop();
      await engine.stop();
    });
});

describe('the routes that vLLM serves with and without /v1', () => {
  const routes = [
    ['Rerank', '/rerank', { query: 'ships', documents: ['a ship', 'an oven'] }],
    ['Rerank', '/score', { text_1: 'ships', text_2: ['a ship'] }],
    ['LLM', '/v1/tokenize', { prompt: 'ships' }],
    ['LLM', '/v1/detokenize', { tokens: [] }],
  ] as const;
  for (const kind of ['Rerank', 'LLM'] as const)
    describe(`of kind ${kind}`, () => {
      let fixture: TextFixture;
      before(async () => {
        fixture = await startTextFixture({ kind });
      });
      after(() => fixture?.stop());
      for (const [of, path, body] of routes)
        if (of === kind)
          it(`serve ${path}`, async () => {
            expect((await fixture.post(path, body)).status).to.equal(200);
          });
    });
});
