import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import type { Capacity, EngineTarget } from '../../../gateway/capacity/capacity.ts';
import { startScriptedEngine } from '../../support/text-endpoint.ts';
import { startTextFixture, type TextFixture } from '../../support/text-fixture.ts';
import { RunningSimulator } from '../../unit/simulator/running-simulator.ts';

async function relayTo(origin: string, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const { method = 'POST', url = '' } = req;
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${origin}${url}`, { method, headers, body: await text(req) });
  res.writeHead(response.status, { 'content-type': response.headers.get('content-type')! });
  res.end(await response.text());
}

describe('a request that a peer is to answer', () => {
  let fixture: TextFixture;
  let peer: Awaited<ReturnType<typeof startScriptedEngine>>;
  let listener: RequestListener;
  let taken: number;
  let lost: string[];

  const take = (origin: string, local: boolean): { target: EngineTarget } => {
    taken++;
    let isHeld = true;
    const release = () => {
      if (isHeld) taken--;
      isHeld = false;
    };
    return { target: { origin, pathPrefix: '', headers: {}, local, release } };
  };
  before(async () => {
    peer = await startScriptedEngine((req, res) => listener(req, res));
    const capacity: Capacity = {
      acquire: () => take(peer.url, false),
      acquireElsewhere: (origins) => {
        lost = [...origins];
        return take(fixture.simulator.url, true);
      },
    };
    fixture = await startTextFixture({ capacity });
  });
  after(async () => {
    await fixture?.stop();
    await peer?.stop();
  });
  beforeEach(() => {
    taken = 0;
    lost = [];
  });

  for (const { what, answer } of [
    { what: 'is gone before it answers', answer: (req, res) => req.resume().on('end', () => res.destroy()) },
    {
      what: 'has lost its engine',
      answer: (_, res) => res.writeHead(502, { 'x-berth-unsent': '1' }).end(),
    },
  ] satisfies { what: string; answer: RequestListener }[])
    for (const stream of [false, true])
      it(`runs at another replica when the peer ${what}, ${stream ? 'streamed' : 'whole'}`, async () => {
        listener = answer;
        const response = await fixture.chat({ stream });
        expect(response.status).to.equal(200);
        expect(await response.text()).to.match(stream ? /\[DONE\]\s*$/ : /"finish_reason":/);
        expect(lost).to.deep.equal([peer.url]);
        expect(taken).to.equal(0);
      });

  const json =
    (status: number, body: object): RequestListener =>
    (_, res) =>
      void res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  const firstFrame =
    (body: object): RequestListener =>
    (_, res) =>
      void res
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .end(`data: ${JSON.stringify(body)}\n\ndata: [DONE]\n\n`);
  /** vllm/exceptions.py and entrypoints/serve/exception_handling/error_response.py of vLLM 0.32. */
  const VLLM_FULL = {
    error: {
      message:
        'The engine is currently busy and cannot accept new requests. Please try again later or on a different instance.',
      type: 'Service Unavailable',
      param: null,
      code: 503,
    },
  };
  /** srt/managers/scheduler.py and entrypoints/openai/serving_base.py of SGLang 0.5.23. */
  const SGLANG_FULL = { object: 'error', message: 'The request queue is full.', param: null, code: 503 };

  for (const { what, answer, stream } of [
    { what: 'vLLM is full', answer: json(503, VLLM_FULL), stream: false },
    { what: 'vLLM is full', answer: firstFrame(VLLM_FULL), stream: true },
    { what: 'SGLang is full', answer: json(503, { ...SGLANG_FULL, type: '503' }), stream: false },
    {
      what: 'SGLang is full',
      answer: firstFrame({ error: { ...SGLANG_FULL, type: 'SERVICE_UNAVAILABLE' } }),
      stream: true,
    },
    {
      what: 'an engine is full, with status 200',
      answer: json(200, { error: VLLM_FULL.error }),
      stream: false,
    },
    {
      what: 'TEI is full',
      answer: json(429, { message: 'no permits', code: 429, type: 'overloaded' }),
      stream: false,
    },
  ])
    it(`runs at another replica when ${what}, ${stream ? 'streamed' : 'whole'}`, async () => {
      listener = answer;
      const response = await fixture.chat({ stream });
      expect(response.status).to.equal(200);
      const text = await response.text();
      expect(text)
        .to.match(stream ? /\[DONE\]\s*$/ : /"finish_reason":/)
        .and.not.match(/"error"/);
      expect(lost).to.deep.equal([peer.url]);
      expect(taken).to.equal(0);
    });

  it('runs at another replica when a full engine begins a message or a response with its error', async () => {
    const messages = [{ role: 'user', content: 'Hi' }];
    for (const [path, body] of [
      ['/v1/messages', { messages, max_tokens: 10 }],
      ['/v1/responses', { input: 'Hi' }],
    ] as const) {
      listener = (_, res) => {
        const error = { type: 'overloaded_error', message: 'The request queue is full.' };
        res.writeHead(200, { 'content-type': 'text/event-stream' });
        res.end(`event: error\ndata: ${JSON.stringify({ type: 'error', error })}\n\n`);
      };
      const answer = await (await fixture.post(path, { ...body, stream: true })).text();
      expect(answer)
        .to.match(/event: (message_stop|response\.completed)/)
        .and.not.match(/event: error/);
    }
  });

  for (const stream of [false, true])
    it(`runs at another replica when vLLM drains, ${stream ? 'streamed' : 'whole'}`, async () => {
      const draining = await RunningSimulator.start({ settings: { like: 'vllm', draining: true } });
      listener = (req, res) => void relayTo(draining.url, req, res);
      const response = await fixture.chat({ stream });
      expect(response.status).to.equal(200);
      expect(await response.text()).to.match(stream ? /\[DONE\]\s*$/ : /"finish_reason":/);
      expect(lost).to.deep.equal([peer.url]);
      await draining.stop();
    });

  it('answers 503 with Retry-After when no other replica serves while vLLM drains', async () => {
    await fixture.simulator.putControl({ like: 'vllm', draining: true });
    listener = (req, res) => void relayTo(fixture.simulator.url, req, res);
    const response = await fixture.chat();
    expect(response.status).to.equal(503);
    expect(response.headers.get('retry-after')).to.equal('2');
    expect(await response.json()).to.have.nested.property('error.code', 'no_pod_available');
    await fixture.simulator.putControl({ like: null, draining: false });
  });

  it('answers 429 with Retry-After when no replica has room in the queue of its engine', async () => {
    listener = json(503, VLLM_FULL);
    await fixture.simulator.putControl({ fault: { kind: 'status', status: 503, body: VLLM_FULL } });
    const response = await fixture.chat();
    expect(response.status).to.equal(429);
    expect(response.headers.get('retry-after')).to.equal('5');
    expect(await response.json()).to.have.nested.property('error.code', 'replica_saturated');
    expect(taken).to.equal(0);
  });

  it('ends with the error when the engine of the peer failed at it', async () => {
    listener = (_, res) => res.writeHead(500).end('{"error":{"message":"no"}}');
    const response = await fixture.chat();
    expect(response.status).to.equal(502);
    expect(lost).to.deep.equal([]);
    expect(taken).to.equal(0);
  });

  it('ends with the error when the answer had begun', async () => {
    listener = (_, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write('data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}\n\n');
      setImmediate(() => res.destroy());
    };
    const response = await fixture.chat({ stream: true });
    expect(await response.text()).to.match(/"code":"upstream_error"/);
    expect(lost).to.deep.equal([]);
  });

  it('ends with the error when an answer that is no stream had begun', async () => {
    listener = (_, res) => {
      res.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 });
      res.write('{"choices":', () => res.destroy());
    };
    const response = await fixture.chat({ stream: true });
    expect(response.status).to.equal(502);
    expect(lost).to.deep.equal([]);
    expect(taken).to.equal(0);
  });
});
