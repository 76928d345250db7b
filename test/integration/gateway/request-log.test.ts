import type { IncomingHttpHeaders } from 'node:http';
import { expect } from 'chai';
import { createLog } from '../../../gateway/telemetry/log.ts';
import { pollUntil } from '../../support/poll.ts';
import { TestStack } from '../../support/test-stack.ts';
import { startScriptedEngine, startTextEndpoint, type TextEndpoint } from '../../support/text-endpoint.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const TRACEPARENT = `00-${TRACE}-b7ad6b7169203331-01`;
const USAGE = { prompt_tokens: 30, completion_tokens: 20, total_tokens: 50 };
const DETAILS = { prompt_tokens_details: { cached_tokens: 10 } };
const CHUNK = '{"id":"a","object":"chat.completion.chunk","created":1,"model":"m"';
const FRAMES = [
  `${CHUNK},"choices":[{"index":0,"delta":{"content":"Answer"},"finish_reason":null}]}`,
  `${CHUNK},"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
  `${CHUNK},"choices":[],"usage":${JSON.stringify({ ...USAGE, ...DETAILS })}}`,
  '[DONE]',
];

const PRICING = {
  perImage: null,
  perVideoSecond: null,
  perMillionInputTokens: 1_000_000,
  perMillionOutputTokens: 4_000_000,
};

describe('the log of requests', () => {
  let stack: TestStack;
  let engine: Awaited<ReturnType<typeof startScriptedEngine>>;
  let endpoint: TextEndpoint;
  let asked: IncomingHttpHeaders = {};
  /** Answered in place of the stream. */
  let failure: { status: number; error: object } | null = null;
  const text: string[] = [];

  before(async () => {
    stack = await TestStack.start();
    engine = await startScriptedEngine((req, res) => {
      asked = req.headers;
      req.resume();
      req.on('end', () => {
        res.writeHead(failure?.status ?? 200, { 'content-type': 'text/event-stream' });
        res.end(failure ? JSON.stringify(failure) : FRAMES.map((f) => `data: ${f}\n\n`).join(''));
      });
    });
    endpoint = await startTextEndpoint({
      connection: stack.connection,
      engineURL: engine.url,
      settings: { pricing: PRICING },
      telemetry: {
        log: createLog('info', { role: 'sidecar', replica: 'pod-1' }, (line) => void text.push(line)),
      },
    });
  });
  after(async () => {
    await endpoint?.stop();
    await engine?.stop();
    await stack?.stop();
  });
  beforeEach(() => {
    text.length = 0;
    failure = null;
  });

  const ask = async (key: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`${endpoint.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ messages: [{ role: 'user', content: 'my secret prompt' }], stream: true }),
    });
    await response.text();
    return response;
  };
  const readLine = async () => {
    await pollUntil(async () => text.length > 0, 'a line');
    return JSON.parse(text[0]!);
  };

  it('has one line for each request: who, what, how long, tokens, cost; no key and no prompt', async () => {
    const key = await endpoint.makeKey({ n: 'laptop' });
    const response = await ask(key, { traceparent: TRACEPARENT, tracestate: 'vendor=1' });
    const line = await readLine();
    expect(line).to.include({
      message: 'request',
      role: 'sidecar',
      replica: 'pod-1',
      request_id: response.headers.get('x-request-id'),
      trace_id: TRACE,
      method: 'POST',
      route: 'chat_completions',
      status: 200,
      api_key: 'laptop',
      input_tokens: 30,
      cached_input_tokens: 10,
      output_tokens: 20,
      cost: 0.00011,
    });
    expect(line.api_key_hash).to.match(/^[0-9a-f]{12}$/);
    expect(line.time_to_first_token_ms).to.be.a('number').within(0, line.duration_ms);
    expect(line).to.not.have.any.keys('error', 'client_disconnected', 'peer');
    expect(text.join('')).to.not.contain(key).and.not.contain('secret prompt').and.not.contain('Answer');
    expect(text).to.have.length(1);
  });

  it("passes the caller's trace on to the engine as it came, and none of another form", async () => {
    const key = await endpoint.makeKey();
    await ask(key, { traceparent: TRACEPARENT, tracestate: 'vendor=1' });
    expect(asked).to.include({ traceparent: TRACEPARENT, tracestate: 'vendor=1' });
    await ask(key, { traceparent: 'mine', tracestate: 'vendor=1' });
    expect(asked).to.not.have.any.keys('traceparent', 'tracestate');
  });

  it('goes with metrics that lead to the trace', async () => {
    await ask(await endpoint.makeKey(), { traceparent: TRACEPARENT });
    await readLine();
    const metrics = (await endpoint.metrics.renderOpenMetrics()).split('\n');
    const find = (name: string) => metrics.filter((line) => line.startsWith(name) && line.includes(TRACE));
    for (const name of [
      'berth_gateway_request_duration_seconds_bucket{route="chat_completions"',
      'gen_ai_server_request_duration_seconds_bucket{gen_ai_operation_name="chat"',
      'gen_ai_server_time_to_first_token_seconds_bucket{gen_ai_operation_name="chat"',
      'gen_ai_client_token_usage_bucket{gen_ai_operation_name="chat"',
    ])
      expect(find(name), name).to.not.deep.equal([]);
  });

  it('warns of a failure of the engine, without its words, which may repeat the prompt', async () => {
    failure = { status: 500, error: { message: 'broken by: my secret prompt' } };
    const answer = await ask(await endpoint.makeKey());
    expect(answer.status).to.equal(502);
    const line = await readLine();
    expect(line).to.include({ level: 40, status: 502, error: 'upstream_error' });
    expect(line.message).to.contain('status 500');
    expect(text.join('')).to.not.contain('secret prompt');
    expect(line).to.not.have.any.keys('output_tokens', 'cost');
  });

  it("names errors by the gateway's own codes, as the metrics do: engines have any number of theirs", async () => {
    failure = { status: 400, error: { message: 'no', code: 'unheard-of-4711' } };
    const answer = await ask(await endpoint.makeKey());
    expect(answer.status).to.equal(400);
    expect(await readLine()).to.include({ status: 400, error: 'invalid_request_error' });
    const metrics = await endpoint.metrics.render();
    expect(metrics).to.contain('error_type="invalid_request_error"').and.not.contain('unheard-of');
  });

  it('cannot be filled by strangers', async () => {
    expect((await ask('sk-unknown')).status).to.equal(401);
    await ask(await endpoint.makeKey({ n: 'known' }));
    const line = await readLine();
    expect([text.length, line.api_key]).to.deep.equal([1, 'known']);
  });
});
