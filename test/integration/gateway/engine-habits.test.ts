import { expect } from 'chai';
import { EngineHealth } from '../../../gateway/health/engine-health.ts';
import { createLog } from '../../../gateway/telemetry/log.ts';
import { readEvents } from '../../support/event-stream.ts';
import { pollUntil } from '../../support/poll.ts';
import { startScriptedEngine, startTextEndpoint } from '../../support/text-endpoint.ts';
import { readEnvelope, startTextFixture, type TextFixture } from '../../support/text-fixture.ts';
import { chatOf, RunningSimulator, readStream } from '../../unit/simulator/running-simulator.ts';

const NAMED: readonly (readonly [path: string, body: object])[] = [
  ['/v1/responses', { input: 'Hello.' }],
  ['/v1/messages', { messages: [{ role: 'user', content: 'Hello.' }], max_tokens: 100 }],
];

describe('an engine that is stopped as vLLM is', () => {
  let fixture: TextFixture;
  beforeEach(async () => {
    fixture = await startTextFixture();
  });
  afterEach(() => fixture?.stop());
  const stop = () => void fixture.simulator.stop(5_000);

  it('ends no stream as if it were complete', async () => {
    await fixture.simulator.putControl({ like: 'vllm', itlMs: 60_000, tokens: 100 });
    const responses: Response[] = [];
    for (let count = 0; count < 3; count++) responses.push(await fixture.chat({ stream: true }));
    stop();
    for (const { events, isDone } of await Promise.all(responses.map(readStream))) {
      expect(events.at(-1)).to.have.nested.property('error.code', 'upstream_error');
      expect(isDone).to.equal(false);
    }
  });

  it('ends no message and no response as if it were complete', async () => {
    await fixture.simulator.putControl({ like: 'vllm', itlMs: 60_000, tokens: 100 });
    const responses: Response[] = [];
    // As many as there are ways to abort.
    for (const [path, body] of [...NAMED, ...NAMED, ...NAMED])
      responses.push(await fixture.post(path, { ...body, stream: true }));
    stop();
    for (const events of await Promise.all(responses.map(readEvents)))
      expect(events.at(-1)!.name).to.equal('error');
  });

  for (const [path, body] of [['/v1/chat/completions', chatOf('Hello.')], ...NAMED] as const)
    it(`ends no whole answer of ${path} as if it were complete`, async () => {
      await fixture.simulator.putControl({ like: 'vllm', ttftMs: 60_000 });
      const response = fixture.post(path, body);
      await pollUntil(async () => (await fixture.simulator.readControl()).inflight === 1, 'the request');
      stop();
      expect((await response).status).to.equal(502);
    });
});

describe('an engine with the habits of vLLM 0.32', () => {
  let fixture: TextFixture;
  before(async () => {
    fixture = await startTextFixture({ settings: { enginePreset: 'vllm' } });
  });
  afterEach(() => fixture.simulator.reset());
  after(() => fixture?.stop());
  const message = { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 20 };

  it('is to blame for a message whose forced tool breaks its schema', async () => {
    await fixture.simulator.putControl({ looseTools: true });
    const tools = [{ name: 'clock', input_schema: { type: 'object' } }];
    const response = await fixture.post('/v1/messages', { ...message, tools, tool_choice: { type: 'any' } });
    expect(response.status).to.equal(502);
  });

  for (const [what, more] of [
    ['without', {}],
    ['with', { stream_options: { include_usage: true } }],
  ] as const)
    it(`ends no stream ${what} usage as if it were complete that it aborts while it serves on`, async () => {
      await fixture.simulator.putControl({ like: 'vllm', fault: { kind: 'abort', afterFrames: 2 } });
      const { events, isDone } = await readStream(await fixture.chat({ stream: true, ...more }));
      expect(events.at(-1)).to.have.nested.property('error.code', 'upstream_error');
      expect(isDone).to.equal(false);
      expect((await fixture.chat()).status).to.equal(200);
    });

  it('answers what it got while it was paused', async () => {
    await fixture.simulator.putControl({ paused: true });
    const response = fixture.chat();
    await pollUntil(async () => (await fixture.simulator.readControl()).inflight === 1, 'the request');
    await fixture.simulator.putControl({ paused: false });
    expect((await response).status).to.equal(200);
  });
});

describe("llama.cpp's server, of a text model that gets an image", () => {
  let fixture: TextFixture;
  before(async () => {
    fixture = await startTextFixture({ settings: { enginePreset: 'llama-cpp' } });
    // As build 11669 sends it, on all routes.
    const message =
      'image input is not supported - hint: if this is unexpected, you may need to provide the mmproj';
    const body = { error: { code: 500, message, type: 'server_error' } };
    await fixture.simulator.putControl({ fault: { kind: 'status', status: 500, body }, faultTimes: -1 });
  });
  after(() => fixture?.stop());

  it('is told as a request that SDKs need not repeat', async () => {
    const refused = await readEnvelope(await fixture.chat());
    expect(refused).to.include({ status: 400, code: 'unsupported_value' });
    expect(refused.headers.get('x-should-retry')).to.equal('false');
  });

  it("has Anthropic's shape on its route", async () => {
    const response = await fixture.post('/v1/messages', {
      messages: [{ role: 'user', content: 'Hi' }],
      max_tokens: 3,
    });
    expect(response.status).to.equal(400);
    const { type, error } = (await response.json()) as { type: string; error: object };
    expect(type).to.equal('error');
    expect(error).to.have.property('type', 'invalid_request_error');
    expect(error)
      .to.have.property('message')
      .that.matches(/^image input is not supported/);
  });
});

describe('parameters that the engine ignores', () => {
  const schema = { type: 'number', maximum: 5 };
  const ASKED = {
    tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }],
    response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
  };
  const IGNORED = 'tools, response_format.maximum';
  const HEADER = 'x-berth-ignored-parameters';
  const lines: string[] = [];
  const open = (settings: object, takesTools: boolean | null = false) =>
    startTextFixture({
      settings: { enginePreset: 'llama-cpp', ...settings },
      engine: { takesTools: () => takesTools },
      telemetry: {
        log: createLog('info', { role: 'sidecar', replica: 'pod-1' }, (line) => void lines.push(line)),
      },
    });

  describe('of a deployment that passes them', () => {
    let fixture: TextFixture;
    before(async () => {
      fixture = await open({});
    });
    after(() => fixture?.stop());

    for (const stream of [true, false])
      it(`are named in a header and the log, and sent as they are (${stream ? 'streamed' : 'whole'})`, async () => {
        const response = await fixture.chat({ ...ASKED, stream });
        expect(response.status).to.equal(200);
        expect(response.headers.get(HEADER)).to.equal(IGNORED);
        await response.text();
        const { last } = await fixture.simulator.readControl();
        expect(last!.body).to.deep.include(ASKED);
        const id = response.headers.get('x-request-id')!;
        await pollUntil(async () => lines.some((line) => line.includes(id)), 'the line of the request');
        expect(JSON.parse(lines.find((each) => each.includes(id))!)).to.include({
          ignored_parameters: IGNORED,
        });
      });

    it('are named for none that the engine obeys', async () => {
      expect((await fixture.chat()).headers.has(HEADER)).to.equal(false);
    });
  });

  describe('of a deployment that rejects them', () => {
    let fixture: TextFixture;
    before(async () => {
      fixture = await open({ unsupported: 'Reject' });
    });
    after(() => fixture?.stop());

    it('are 400, which names them', async () => {
      const refused = await readEnvelope(await fixture.chat(ASKED));
      expect(refused).to.include({ status: 400, code: 'unsupported_parameter' });
      expect(refused.message).to.include(IGNORED);
      expect((await fixture.chat()).status).to.equal(200);
    });
  });

  describe('of a deployment that rejects them, whose engine has not reported yet', () => {
    let fixture: TextFixture;
    before(async () => {
      fixture = await open({ unsupported: 'Reject' }, null);
    });
    after(() => fixture?.stop());

    it('are refused for now if they are tools', async () => {
      const refused = await readEnvelope(await fixture.chat({ tools: ASKED.tools }));
      expect(refused).to.include({ status: 503, code: 'temporarily_unavailable' });
      expect(refused.headers.get('retry-after')).to.equal('5');
      expect((await fixture.chat()).status).to.equal(200);
    });
  });
});

describe('an engine that schedules by priority', () => {
  let fixture: TextFixture;
  before(async () => {
    fixture = await startTextFixture({
      settings: { enginePreset: 'vllm', enginePriority: 'lower-first' },
    });
  });
  after(() => fixture?.stop());

  it('gets the priority of the key, whatever the request says', async () => {
    const key = await fixture.endpoint.makeKey({ pri: 7 });
    for (const body of [{}, { priority: -1_000 }]) {
      await (await fixture.chat({ max_tokens: 1, ...body }, { key })).text();
      const { last } = await fixture.simulator.readControl();
      expect(last!.body).to.have.property('priority', -7);
    }
  });

  it('gets it in the header of vLLM too, which alone it reads of messages', async () => {
    const body = { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 1 };
    const key = await fixture.endpoint.makeKey({ pri: 7 });
    const readHeader = async (init?: { key: string }) => {
      await (await fixture.post('/v1/messages', body, init)).text();
      return (await fixture.simulator.readControl()).last!.headers['x-vllm-priority'];
    };
    expect(await readHeader({ key })).to.equal('-7');
    expect(await readHeader()).to.equal(undefined);
  });
});

describe('an engine that reports cached tokens', () => {
  const usage = {
    prompt_tokens: 100,
    completion_tokens: 10,
    total_tokens: 110,
    prompt_tokens_details: { cached_tokens: 80 },
  };
  let fixture: TextFixture;
  before(async () => {
    fixture = await startTextFixture();
  });
  after(() => fixture?.stop());

  for (const isStream of [false, true])
    it(`shows them to the client, who pays their own price (${isStream ? 'streamed' : 'whole'})`, async () => {
      const choice = {
        index: 0,
        finish_reason: 'stop',
        delta: {},
        message: { role: 'assistant', content: 'a' },
      };
      const frames = [{ choices: [choice] }, { choices: [], usage }].map(
        (frame) => `data: ${JSON.stringify(frame)}\n\n`,
      );
      const engine = await startScriptedEngine((req, res) => {
        req.resume();
        res.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
        res.end(
          isStream ? `${frames.join('')}data: [DONE]\n\n` : JSON.stringify({ choices: [choice], usage }),
        );
      });
      const namespace = `cached-${isStream}`;
      const prices = {
        perMillionInputTokens: 2_000_000,
        perMillionCachedInputTokens: 500_000,
        perMillionOutputTokens: 10_000_000,
      };
      const { connection } = fixture;
      const pricing = { ...fixture.endpoint.config.pricing, ...prices };
      const endpoint = await startTextEndpoint({
        connection,
        engineURL: engine.url,
        settings: { namespace, pricing },
      });
      const response = await fetch(`${endpoint.origin}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${await endpoint.makeKey()}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          messages: [{ role: 'user', content: 'Hi' }],
          ...(isStream && { stream: true, stream_options: { include_usage: true } }),
        }),
      });
      expect(await response.text()).to.include('"prompt_tokens_details":{"cached_tokens":80}');
      // Millionths: 20 * 2 + 80 * 0.5 + 10 * 10.
      const spent = () => connection.redis.get(`w:{${namespace}}:credit`);
      await pollUntil(async () => (await spent()) === '180', 'the debit');
      await endpoint.stop();
      await engine.stop();
    });
});

describe('an engine whose health check waits for its work', () => {
  for (const [like, work, path] of [
    ['sglang', 'a long prompt', '/v1/chat/completions'],
    ['tei', 'a large batch', '/v1/embeddings'],
  ] as const)
    it(`is busy with ${work} of ${like}, and takes requests`, async () => {
      const isChat = like === 'sglang';
      const simulator = await RunningSimulator.start({ kind: isChat ? 'LLM' : 'Embedding' });
      const phases: string[] = [];
      const health = new EngineHealth({
        engineURL: simulator.url,
        path: '/health',
        stalledMs: () => 60_000,
        timing: { healthyMs: 50, timeoutMs: 200, evaluateMs: 20 },
        onChange: ({ phase, isReady }) => phases.push(`${phase} ${isReady}`),
      });
      await pollUntil(() => health.isReady, 'ready');
      await simulator.putControl({ like, ttftMs: 60_000 });
      const leaving = new AbortController();
      const body = isChat ? chatOf('Hello', { stream: true }) : { input: 'a' };
      const asked = simulator.post(path, body, { signal: leaving.signal }).catch(() => null);
      await pollUntil(() => health.verdict.phase === 'busy', 'busy');
      leaving.abort();
      await asked;
      await simulator.putControl({ like: null });
      await pollUntil(() => health.verdict.phase === 'healthy', 'healthy again');
      expect(phases).to.deep.equal(['healthy true', 'busy true', 'healthy true']);
      health.stop();
      await simulator.stop();
    });
});

describe('an engine with the bounds of Text Embeddings Inference', () => {
  const texts = (count: number) => Array.from({ length: count }, (_, index) => `text ${index}`);
  let fixture: TextFixture;
  afterEach(() => fixture?.stop());
  const start = async (kind: 'Embedding' | 'Rerank') => {
    fixture = await startTextFixture({ kind, settings: { enginePreset: 'tei' } });
    await fixture.simulator.putControl({ like: 'tei' });
  };

  it('refuses too many inputs, which is told as a request that is too large', async () => {
    await start('Embedding');
    expect((await fixture.post('/v1/embeddings', { input: texts(32) })).status).to.equal(200);
    const refused = await readEnvelope(await fixture.post('/v1/embeddings', { input: texts(33) }));
    expect(refused).to.include({ status: 413, code: 'request_too_large' });
    expect(refused.message).to.include('batch size 33 > maximum allowed batch size 32');
  });

  it('ranks in its own words, and refuses too many texts', async () => {
    await start('Rerank');
    for (const path of ['/v1/rerank', '/v2/rerank']) {
      const ask = (documents: string[]) => fixture.post(path, { query: 'ships', documents });
      const { results } = (await (await ask(['bread', 'ships'])).json()) as { results: { index: number }[] };
      expect(results.map(({ index }) => index)).to.deep.equal([1, 0]);
      expect(await readEnvelope(await ask(texts(33)))).to.include({ status: 413, code: 'request_too_large' });
    }
  });

  it('tells tokens in its own words', async () => {
    await start('Embedding');
    const told = await fixture.post('/tokenize', { prompt: 'Grüße', return_token_strs: true });
    const { tokens, count, token_strs: pieces } = (await told.json()) as Record<string, unknown[]>;
    expect(count).to.equal(tokens!.length);
    expect(pieces!.join('')).to.equal('Grüße');
    const back = await fixture.post('/detokenize', { tokens });
    expect(await back.json()).to.deep.equal({ prompt: 'Grüße' });
  });

  it('is told as full where it has no permit left, and serves on', async () => {
    await start('Embedding');
    await fixture.simulator.putControl({ ttftMs: 60_000 });
    const leaving = new AbortController();
    const batches = Array.from({ length: 16 }, () =>
      fixture.simulator
        .post('/v1/embeddings', { input: texts(32) }, { signal: leaving.signal })
        .catch(() => null),
    );
    await pollUntil(async () => (await fixture.simulator.readControl()).inflight === 16, 'the batches');
    const full = await readEnvelope(await fixture.post('/v1/embeddings', { input: 'a' }));
    expect(full).to.include({ status: 429, code: 'replica_saturated' });
    expect(full.headers.get('retry-after')).to.equal('5');
    leaving.abort();
    await Promise.all(batches);
    await fixture.simulator.putControl({ ttftMs: 0 });
    await pollUntil(async () => (await fixture.simulator.readControl()).inflight === 0, 'the engine');
    expect((await fixture.post('/v1/embeddings', { input: 'a' })).status).to.equal(200);
  });
});

describe('an engine that answers in words of its own', () => {
  let fixture: TextFixture;
  afterEach(() => fixture?.stop());
  const start = async (kind: 'Embedding' | 'Rerank', like: 'sglang' | 'vllm') => {
    fixture = await startTextFixture({ kind, settings: { enginePreset: like } });
    await fixture.simulator.putControl({ like });
  };

  it('may list what fits a query, as SGLang does, and tell the tokens of each', async () => {
    await start('Rerank', 'sglang');
    const response = await fixture.post('/v1/rerank', {
      query: 'ships',
      documents: ['bread', 'ships'],
      top_n: 1,
    });
    const { results, usage } = (await response.json()) as {
      results: { index: number; document: { text: string } }[];
      usage: { total_tokens: number };
    };
    expect(results.map(({ index, document }) => [index, document.text])).to.deep.equal([[1, 'ships']]);
    expect(usage.total_tokens).to.be.greaterThan(0);
  });

  it('may embed a conversation, as vLLM does', async () => {
    await start('Embedding', 'vllm');
    const ask = async (text: string) => {
      const body = { messages: [{ role: 'user', content: text }] };
      const { data, usage } = (await (await fixture.post('/v1/embeddings', body)).json()) as {
        data: { embedding: number[] }[];
        usage: { prompt_tokens: number };
      };
      expect(usage.prompt_tokens).to.be.greaterThan(4);
      return data.map(({ embedding }) => embedding);
    };
    expect(await ask('ships')).to.have.lengthOf(1);
    expect(await ask('ships')).to.not.deep.equal(await ask('bread'));
  });
});
