import { expect } from 'chai';
import { GATEWAY_ENV } from '../../../api/gateway-environment.ts';
import { publishHost, publishReplicas } from '../../../redis/publication/publication.ts';
import { callChat, streamChat } from '../../support/chat.ts';
import { findFreePort } from '../../support/child-program.ts';
import { type FrontProcess, startFrontProcess } from '../../support/front-process.ts';
import { readHeartbeats } from '../../support/heartbeats.ts';
import {
  API_KEY,
  describeModel,
  type Engine,
  type ModelReplica,
  startEngine,
  startReplica,
} from '../../support/model-replica.ts';
import { pollUntil } from '../../support/poll.ts';
import { publishModel } from '../../support/replica-stack.ts';
import { TestStack } from '../../support/test-stack.ts';
import { type ReceivedSpan, startTraceReceiver, type TraceReceiver } from '../../support/trace-receiver.ts';

const ADDRESSES = ['127.0.0.31', '127.0.0.32'];
const HOST = 'chat--team.models.example.com';
const PROMPT = 'a sentence that nobody else may read';

let lastTrace = 0;
const newTrace = () => (++lastTrace).toString(16).padStart(32, 'a');
const CALLER = 'b7ad6b7169203331';

describe('traces of a chat', () => {
  let stack: TestStack;
  let receiver: TraceReceiver;
  let front: FrontProcess;
  let engines: Engine[];
  let replicas: ModelReplica[];
  const config = describeModel({ concurrency: 1 });
  const { namespace, name } = config;

  before(async () => {
    stack = await TestStack.start();
    receiver = await startTraceReceiver();
    const { redis, server } = stack;
    await publishModel(redis, config, { n: 'laptop' });
    await publishHost(redis, HOST, { namespace, name });
    await publishReplicas(redis, namespace, name, [ADDRESSES[0]!]);
    engines = await Promise.all(ADDRESSES.map(() => startEngine()));
    const port = await findFreePort(ADDRESSES);
    const env = { [GATEWAY_ENV.tracingEndpoint]: receiver.endpoint, [GATEWAY_ENV.tracingRatio]: '0' };
    const start = (address: string, index: number) =>
      startReplica({ redisURL: server.url, engineURL: engines[index]!.url, config, address, port, env });
    replicas = await Promise.all(ADDRESSES.map(start));
    front = await startFrontProcess({ redisURL: server.url, replicaPort: port, env });
    await pollUntil(async () => {
      const beats = await readHeartbeats(redis, namespace, name);
      return beats.length === 2 && beats.every(({ ready }) => ready);
    }, 'ready replicas');
    await pollUntil(async () => (await front.admin('/readyz')).ok, 'the front to be ready');
  });
  after(async () => {
    await Promise.all([...(replicas ?? []), ...(engines ?? [])].map((part) => part.stop('SIGKILL')));
    await front?.stop('SIGKILL');
    receiver?.stop();
    await stack?.stop();
  });

  /** Reads the headers of its last call. */
  const readHeaders = async (engine: Engine) => (await engine.read()).last!.headers as Record<string, string>;
  const readTraceparent = async (engine: Engine) => (await readHeaders(engine)).traceparent;
  const idle = () =>
    Promise.all(engines.map((engine) => engine.control({ ttftMs: 50, itlMs: 5, tokens: 5 })));
  const ask = (traceparent?: string, body: object = {}) =>
    callChat(`${front.origin}/v1`, {
      host: HOST,
      headers: traceparent === undefined ? {} : { traceparent },
      body: { stream: true, messages: [{ role: 'user', content: PROMPT }], ...body },
    });

  it('go from the front over the replica and its peer to the engine, whose headers name the last span', async () => {
    await idle();
    await engines[0]!.control({ itlMs: 30, tokens: 60 });
    const held = await streamChat(replicas[0]!.url);
    await pollUntil(() => held.frames() > 0, 'a replica that is full');
    const traceId = newTrace();
    const before = Date.now();
    await (await ask(`00-${traceId}-${CALLER}-01`)).text();

    const names = [
      'POST /v1/chat/completions',
      'replica',
      'admission',
      'wait for a place',
      'chat berth/chat',
      'peer',
    ];
    const ofTrace = (span: ReceivedSpan) => span.traceId === traceId;
    await receiver.untilComplete(ofTrace, names);
    await pollUntil(() => receiver.spans.filter(ofTrace).length === 7, 'the spans of the front');
    // Some end only once their reader has its last byte.
    const after = Date.now();
    const spans = receiver.spans.filter(ofTrace);
    const find = (wanted: string, service?: string) =>
      spans.find((s) => s.name === wanted && (!service || s.resource['service.name'] === service))!;
    const [atFront, hop] = [find('POST /v1/chat/completions', 'berth-front'), find('replica')];
    const [atReplica, call, peer] = [
      find('POST /v1/chat/completions', 'berth-gateway'),
      find('chat berth/chat'),
      find('peer'),
    ];
    expect(atFront.parentSpanId).to.equal(CALLER);
    expect(hop.parentSpanId).to.equal(atFront.spanId);
    expect(atReplica.parentSpanId).to.equal(hop.spanId);
    for (const step of [find('admission'), find('wait for a place'), call])
      expect(step.parentSpanId, step.name).to.equal(atReplica.spanId);
    expect(peer.parentSpanId).to.equal(call.spanId);
    expect(call.attributes).to.include({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'simulator',
      'gen_ai.request.model': 'berth/chat',
      'gen_ai.usage.output_tokens': '5',
      'server.address': ADDRESSES[1],
      'berth.peer': true,
    });
    expect(call.events).to.deep.equal(['first token', 'last token']);
    expect(peer.events).to.deep.equal(['first byte']);
    expect(atReplica.attributes).to.include({
      'http.response.status_code': '200',
      'berth.api_key': 'laptop',
    });
    expect(atReplica.resource).to.include({
      'k8s.namespace.name': namespace,
      'k8s.deployment.name': name,
      'k8s.pod.name': `pod-${ADDRESSES[0]}`,
    });
    expect(peer.resource).to.include({ 'k8s.pod.name': `pod-${ADDRESSES[1]}` });
    for (const span of spans) {
      expect(span.isError, span.name).to.equal(false);
      // Clocks of different processes, in fractions of a millisecond.
      expect(span.start).to.be.within(before - 2, after + 2);
      expect(span.end).to.be.within(span.start, after + 2);
    }
    expect(await readTraceparent(engines[1]!)).to.equal(`00-${traceId}-${peer.spanId}-01`);
    expect(call.end - call.start).to.be.at.least(50);
    expect(find('wait for a place').end).to.be.at.most(call.start);
    expect(receiver.bodies.join()).to.not.contain(PROMPT).and.not.contain(API_KEY);
    await held.ended;
  });

  it('name the span of the call to an engine that is asked at once, with the state of the caller', async () => {
    await idle();
    const traceId = newTrace();
    const response = await callChat(replicas[0]!.url, {
      headers: { traceparent: `00-${traceId}-${CALLER}-01`, tracestate: 'caller=1' },
      body: { stream: false, messages: [{ role: 'user', content: PROMPT }] },
    });
    expect(response.status).to.equal(200);
    const spans = await receiver.untilComplete((span) => span.traceId === traceId, ['chat berth/chat']);
    const call = spans.find((span) => span.name === 'chat berth/chat')!;
    expect(await readTraceparent(engines[0]!)).to.equal(`00-${traceId}-${call.spanId}-01`);
    expect(await readHeaders(engines[0]!)).to.include({ tracestate: 'caller=1' });
  });

  it('are exported of errors alone where none is sampled', async () => {
    await idle();
    const [good, bad] = [newTrace(), newTrace()];
    await (await ask(`00-${good}-${CALLER}-00`)).text();
    await Promise.all(engines.map((engine) => engine.control({ fault: { kind: 'status', status: 500 } })));
    expect((await ask(`00-${bad}-${CALLER}-00`)).status).to.equal(502);
    await Promise.all(engines.map((engine) => engine.control({ fault: null })));
    const spans = await receiver.untilComplete(
      ({ traceId }) => traceId === bad,
      ['chat berth/chat', 'replica'],
    );
    const call = spans.find((span) => span.name === 'chat berth/chat')!;
    expect(call.isError).to.equal(true);
    expect(call.attributes['error.type']).to.equal('upstream_error');
    expect(receiver.spans.filter(({ traceId }) => traceId === good)).to.deep.equal([]);
  });

  it('cost no request while their receiver is away, and come once it is back', async () => {
    await pollUntil(async () => (await replicas[0]!.admin('/readyz')).ok, 'a healthy engine', 20_000);
    await idle();
    receiver.status = 503;
    const traceId = newTrace();
    const response = await ask(`00-${traceId}-${CALLER}-01`, { stream: false });
    expect(response.status).to.equal(200);
    await pollUntil(() => replicas[0]!.program.output.includes('trace receiver rejects spans'), 'a warning');
    expect((await ask()).status).to.equal(200);
    receiver.status = 200;
    await receiver.untilComplete((span) => span.traceId === traceId, ['chat berth/chat', 'replica']);
    await pollUntil(
      async () => /trace_spans_total\{.*outcome="exported"/.test(await replicas[0]!.metrics()),
      'the count of spans',
    );
  });
});
