import { expect } from 'chai';
import { hashApiKey } from '../../../api/identity.ts';
import { createLog } from '../../../gateway/telemetry/log.ts';
import { DeploymentUsage } from '../../../gateway/telemetry/usage.ts';
import { admit } from '../../../redis/admission/admission-calls.ts';
import { parseEvents, readEvents } from '../../support/event-stream.ts';
import { pollUntil } from '../../support/poll.ts';
import { startScriptedEngine, startTextEndpoint } from '../../support/text-endpoint.ts';
import { startTextFixture, type TextFixture } from '../../support/text-fixture.ts';

const RESPONSE = { input: 'Tell me about ships.' };
const MESSAGE = { messages: [{ role: 'user', content: 'Tell me about ships.' }], max_tokens: 400 };
const ROUTES: [path: string, body: object, end: string][] = [
  ['/v1/responses', RESPONSE, 'response.completed'],
  ['/v1/messages', MESSAGE, 'message_stop'],
];

describe('responses and messages', () => {
  let fixture: TextFixture;
  const usage = new DeploymentUsage();
  const lines: string[] = [];
  before(async () => {
    const log = createLog('info', { role: 'sidecar', replica: 'pod-1' }, (line) => void lines.push(line));
    fixture = await startTextFixture({ telemetry: { usage, log } });
  });
  after(() => fixture?.stop());
  afterEach(() => fixture.simulator.reset());

  const call = (path: string, headers: Record<string, string>, init: RequestInit = {}) =>
    fetch(`${fixture.endpoint.origin}${path}`, { method: 'POST', headers, ...init });
  const anthropic = (path: string, body: object, more: Record<string, string> = {}) =>
    call(
      path,
      {
        'x-api-key': fixture.key,
        'anthropic-version': '2023-06-01',
        'content-type': 'application/json',
        ...more,
      },
      { body: JSON.stringify(body) },
    );
  const readTokens = async (key: string) => {
    const { namespace } = fixture.endpoint.config;
    const request = { namespace, sha256: hashApiKey(key), counted: 'no' as const };
    return (await admit(fixture.connection.redis, request)).tpd.used;
  };

  /** Those of the last request that the engine got. */
  const readAskedTools = async () =>
    ((await fixture.simulator.readControl()).last!.body as { tools: unknown }).tools;

  for (const [path, body, end] of ROUTES) {
    it(`answers ${path} whole, with the deployment's model id and both limits`, async () => {
      const response = await fixture.post(path, body);
      expect(response.status).to.equal(200);
      expect(response.headers.get('x-ratelimit-remaining')).to.not.equal(null);
      expect(await response.json()).to.include({ model: fixture.endpoint.config.modelId });
    });

    it(`streams ${path} to its end, with the deployment's model id`, async () => {
      const events = await readEvents(await fixture.post(path, { ...body, stream: true }));
      expect(events.at(-1)!.name).to.equal(end);
      const { data } = events[0]!;
      expect(((data.response ?? data.message) as { model: string }).model).to.equal(
        fixture.endpoint.config.modelId,
      );
    });

    for (const stream of [true, false])
      it(`settles the tokens of ${path} (${stream ? 'streamed' : 'whole'})`, async () => {
        const key = await fixture.endpoint.makeKey();
        await (await fixture.post(path, { ...body, stream }, { key })).text();
        await pollUntil(async () => (await readTokens(key)) > 20, 'its tokens');
      });

    for (const kind of ['drop', 'end', 'error-frame'])
      it(`ends ${path} by an error event when the engine breaks its stream: ${kind}`, async () => {
        await fixture.simulator.putControl({ fault: { kind, afterFrames: 6 } });
        const events = await readEvents(await fixture.post(path, { ...body, stream: true }));
        expect(events).to.have.length(7);
        const { name, data } = events.at(-1)!;
        expect([name, data.type]).to.deep.equal(['error', 'error']);
        if (path === '/v1/responses') expect(data).to.include({ code: 'upstream_error', sequence_number: 6 });
        else expect(data.error).to.include({ type: 'api_error' });
      });

    it(`answers an error of ${path} before the first event with its status`, async () => {
      await fixture.simulator.putControl({ fault: { kind: 'oom' } });
      const response = await fixture.post(path, { ...body, stream: true });
      expect(response.status).to.equal(502);
    });

    it(`frees the engine at once when a client of ${path} leaves`, async () => {
      await fixture.simulator.putControl({ itlMs: 20, tokens: 100_000 });
      const abort = new AbortController();
      const long = { ...body, max_tokens: 100_000, stream: true };
      const response = await fixture.post(path, long, { signal: abort.signal });
      await response.body!.getReader().read();
      abort.abort();
      const isFreed = async () => (await fixture.simulator.readControl()).aborted === 1;
      await pollUntil(isFreed, 'the end of the call at the engine');
      expect(fixture.endpoint.slots.inflight).to.equal(0);
    });
  }

  for (const stream of [true, false])
    it(`name the tools that only a server could run, in a header and the log (${stream ? 'streamed' : 'whole'})`, async () => {
      const own = { type: 'function', name: 'f', parameters: { type: 'object' } };
      const tools = [own, { type: 'web_search', external_web_access: true }, { type: 'image_generation' }];
      const response = await fixture.post('/v1/responses', { ...RESPONSE, tools, stream });
      expect(response.status).to.equal(200);
      expect(response.headers.get('x-berth-omitted-tools')).to.equal('web_search, image_generation');
      expect(await response.text()).to.not.include('web_search');
      expect(await readAskedTools()).to.deep.equal([own]);
      const id = response.headers.get('x-request-id')!;
      await pollUntil(async () => lines.some((line) => line.includes(id)), 'the line of the request');
      const line = lines.find((each) => each.includes(id))!;
      expect(JSON.parse(line)).to.include({ omitted_tools: 'web_search, image_generation' });
    });

  it('name none in a chat, whose tools the engine gets as they are', async () => {
    const response = await fixture.chat({ tools: [{ type: 'web_search' }] });
    expect(response.headers.has('x-berth-omitted-tools')).to.equal(false);
    expect(await readAskedTools()).to.deep.equal([{ type: 'web_search' }]);
  });

  it('count tokens for the key alone, which spends none', async () => {
    const key = await fixture.endpoint.makeKey();
    const { messages } = MESSAGE;
    const response = await fixture.post('/v1/messages/count_tokens', { messages }, { key });
    expect(response.headers.get('x-ratelimit-remaining')).to.not.equal(null);
    expect(((await response.json()) as { input_tokens: number }).input_tokens).to.be.greaterThan(5);
    expect(await readTokens(key)).to.equal(0);
  });

  it('count the input of a response as the response reads it, and spend none', async () => {
    const key = await fixture.endpoint.makeKey();
    const response = await fixture.post('/v1/responses/input_tokens', RESPONSE, { key });
    expect(response.headers.get('x-ratelimit-remaining')).to.not.equal(null);
    const counted = (await response.json()) as { object: string; input_tokens: number };
    expect(counted.object).to.equal('response.input_tokens');
    const { last } = await fixture.simulator.readControl();
    expect(last!.path).to.equal('/v1/messages/count_tokens');
    expect(await readTokens(key)).to.equal(0);
    const answered = await fixture.post('/v1/responses', RESPONSE);
    const { usage } = (await answered.json()) as { usage: { input_tokens: number } };
    expect(counted.input_tokens).to.equal(usage.input_tokens);
  });

  it('answer 404 for decisions, which one slot would not bound', async () => {
    const response = await fixture.post('/v1/decisions', { input: 'x', questions: [] });
    expect(response.status).to.equal(404);
  });

  describe('in Anthropic’s dialect', () => {
    const readError = async (response: Response) => {
      const body = (await response.json()) as { type: string; error: { type: string }; request_id: string };
      expect(body.type).to.equal('error');
      expect(body.request_id).to.equal(response.headers.get('request-id'));
      expect(response.headers.get('x-request-id')).to.equal(body.request_id);
      return [response.status, body.error.type];
    };

    it('takes the key as x-api-key, and a query', async () => {
      const response = await anthropic('/v1/messages?beta=true', MESSAGE);
      expect(response.status).to.equal(200);
      expect(response.headers.get('request-id')).to.equal(response.headers.get('x-request-id'));
      const { last } = await fixture.simulator.readControl();
      expect(last!.path).to.equal('/v1/messages');
      expect(last!.headers).to.not.have.any.keys('x-api-key', 'anthropic-version');
    });

    it('is found below a base URL that ends in /v1 already', async () => {
      expect((await anthropic('/v1/v1/messages', MESSAGE)).status).to.equal(200);
    });

    it('answers HEAD / to who has no key', async () => {
      const response = await fetch(`${fixture.endpoint.origin}/`, { method: 'HEAD' });
      expect(response.status).to.equal(200);
    });

    it('tells errors that come before the route', async () => {
      expect(await readError(await call('/v1/messages', {}))).to.deep.equal([401, 'authentication_error']);
      const unknown = { 'x-api-key': 'sk-unknown' };
      expect(await readError(await call('/v1/messages', unknown))).to.deep.equal([
        401,
        'authentication_error',
      ]);
      expect(await readError(await anthropic('/v1/messages/batches', {}))).to.deep.equal([
        404,
        'not_found_error',
      ]);
      const get = await call('/v1/messages', unknown, { method: 'GET' });
      expect(await readError(get)).to.deep.equal([405, 'invalid_request_error']);
      const gzip = await anthropic('/v1/messages', MESSAGE, { 'content-encoding': 'gzip' });
      expect(await readError(gzip)).to.deep.equal([415, 'invalid_request_error']);
    });

    it('tells a body that is too large', async () => {
      const { jsonBodyBytes } = fixture.endpoint.config.limits;
      const large = { ...MESSAGE, system: 'x'.repeat(jsonBodyBytes) };
      expect(await readError(await anthropic('/v1/messages', large))).to.deep.equal([
        413,
        'request_too_large',
      ]);
    });

    it('tells 429 to a key over its limit, with Retry-After', async () => {
      const key = await fixture.endpoint.makeKey({ rpm: 1 });
      await (await anthropic('/v1/messages', MESSAGE, { 'x-api-key': key })).text();
      const response = await anthropic('/v1/messages', MESSAGE, { 'x-api-key': key });
      expect(Number(response.headers.get('retry-after'))).to.be.greaterThan(0);
      expect(await readError(response)).to.deep.equal([429, 'rate_limit_error']);
    });

    it('tells 529 where every replica is full', async () => {
      const { connection, simulator } = fixture;
      const settings = { ...fixture.endpoint.config, concurrency: 0 };
      const full = await startTextEndpoint({ connection, engineURL: simulator.url, settings });
      const response = await fetch(`${full.origin}/v1/messages`, {
        method: 'POST',
        headers: { 'x-api-key': await full.makeKey(), 'content-type': 'application/json' },
        body: JSON.stringify(MESSAGE),
      });
      expect(response.headers.get('retry-after')).to.not.equal(null);
      expect(await readError(response)).to.deep.equal([529, 'overloaded_error']);
      await full.stop();
    });

    it('tells what the engine refuses', async () => {
      const response = await anthropic('/v1/messages', { ...MESSAGE, temperature: 7 });
      expect(await readError(response)).to.deep.equal([400, 'invalid_request_error']);
    });
  });
});

describe('an engine that caches prompts', () => {
  const PRICING = {
    perImage: null,
    perVideoSecond: null,
    perMillionInputTokens: 1,
    perMillionOutputTokens: 1,
  };
  const responsesUsage = {
    input_tokens: 90,
    input_tokens_details: { cached_tokens: 64 },
    output_tokens: 10,
    output_tokens_details: { reasoning_tokens: 4 },
    total_tokens: 100,
  };
  const messagesUsage = { input_tokens: 26, cache_read_input_tokens: 64, output_tokens: 10 };
  const answers: [string, object, object, string][] = [
    [
      '/v1/responses',
      RESPONSE,
      {
        id: 'resp_1',
        object: 'response',
        status: 'completed',
        output: [],
        error: null,
        usage: responsesUsage,
      },
      `event: response.completed\ndata: ${JSON.stringify({ type: 'response.completed', response: { usage: responsesUsage } })}\n\n`,
    ],
    [
      '/v1/messages',
      MESSAGE,
      { id: 'msg_1', type: 'message', content: [], stop_reason: 'end_turn', usage: messagesUsage },
      `event: message_start\ndata: ${JSON.stringify({ type: 'message_start', message: { usage: messagesUsage } })}\n\n` +
        'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    ],
  ];
  let fixture: TextFixture;
  before(async () => {
    fixture = await startTextFixture();
  });
  after(() => fixture?.stop());

  for (const [path, body, whole, streamed] of answers)
    for (const stream of [true, false])
      it(`has its cached tokens counted once on ${path} (${stream ? 'streamed' : 'whole'})`, async () => {
        let sent: Record<string, unknown> = {};
        const engine = await startScriptedEngine(async (req, res) => {
          let text = '';
          for await (const part of req) text += part;
          sent = JSON.parse(text);
          res.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' });
          res.end(stream ? streamed : JSON.stringify(whole));
        });
        const usage = new DeploymentUsage();
        const endpoint = await startTextEndpoint({
          connection: fixture.connection,
          engineURL: engine.url,
          settings: { pricing: PRICING },
          telemetry: { usage },
        });
        const response = await fetch(`${endpoint.origin}${path}`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${await endpoint.makeKey()}`,
            'content-type': 'application/json',
          },
          body: JSON.stringify({ ...body, stream }),
        });
        const text = await response.text();
        expect(response.status, text).to.equal(200);
        if (stream) expect(parseEvents(text).length).to.be.greaterThan(0);
        expect([usage.sums.get('inputTokens'), usage.sums.get('outputTokens')]).to.deep.equal([90, 10]);
        expect(sent).to.not.have.property('stream_options');
        await endpoint.stop();
        await engine.stop();
      });
});
