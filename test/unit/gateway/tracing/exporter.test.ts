import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { createLog } from '../../../../gateway/telemetry/log.ts';
import { MAX_QUEUED_SPANS, SpanExporter } from '../../../../gateway/tracing/exporter.ts';
import type { SpanRecord } from '../../../../gateway/tracing/otlp.ts';
import { pollUntil } from '../../../support/poll.ts';
import { startTraceReceiver, type TraceReceiver } from '../../../support/trace-receiver.ts';

const span = (name: string): SpanRecord => ({
  traceId: 'a'.repeat(32),
  spanId: 'b'.repeat(16),
  parentSpanId: undefined,
  tracestate: undefined,
  name,
  kind: 'internal',
  startedAt: 1_700_000_000_000.25,
  endedAt: 1_700_000_000_001.5,
  attributes: {},
  events: [],
  hasFailed: false,
});

describe('the exporter of spans', () => {
  let receiver: TraceReceiver;
  const counts = { exported: 0, dropped: 0 };
  beforeEach(async () => {
    receiver = await startTraceReceiver();
    Object.assign(counts, { exported: 0, dropped: 0 });
  });
  afterEach(() => receiver.stop());

  const open = (endpoint = receiver.endpoint, closeMs = 1_000) =>
    new SpanExporter(
      endpoint,
      {
        resource: { 'service.name': 'test' },
        log: createLog('silent'),
        onSpans: (outcome, count) => {
          counts[outcome] += count;
        },
      },
      { intervalMs: 10, retryMs: 10, closeMs },
    );

  it('sends what came together, with times in nanoseconds and what all have in common', async () => {
    const exporter = open();
    exporter.add([span('a'), span('b')]);
    exporter.add([span('c')]);
    await pollUntil(() => counts.exported === 3, 'all');
    expect(receiver.bodies).to.have.length(1);
    const { resourceSpans } = JSON.parse(receiver.bodies[0]!);
    expect(resourceSpans[0].resource.attributes).to.deep.equal([
      { key: 'service.name', value: { stringValue: 'test' } },
    ]);
    const [first] = resourceSpans[0].scopeSpans[0].spans;
    expect(first).to.include({
      name: 'a',
      startTimeUnixNano: '1700000000000250000',
      endTimeUnixNano: '1700000000001500000',
    });
    await exporter.close();
  });

  it('writes nothing for which a receiver would refuse the whole batch', async () => {
    const exporter = open();
    const odd = {
      large: 1e25,
      endless: Number.POSITIVE_INFINITY,
      none: Number.NaN,
      half: 'a\ud83d',
      whole: 7,
    };
    exporter.add([{ ...span('odd'), attributes: odd, startedAt: -1, endedAt: 8.64e15 }, span('other')]);
    await pollUntil(() => counts.exported === 2, 'both');
    const [sent] = JSON.parse(receiver.bodies[0]!).resourceSpans[0].scopeSpans[0].spans;
    expect(sent.attributes).to.deep.equal([
      { key: 'large', value: { doubleValue: 1e25 } },
      // As protobuf's JSON has them.
      { key: 'endless', value: { doubleValue: 'Infinity' } },
      { key: 'none', value: { doubleValue: 'NaN' } },
      { key: 'half', value: { stringValue: 'a\ufffd' } },
      { key: 'whole', value: { intValue: '7' } },
    ]);
    expect([sent.startTimeUnixNano, sent.endTimeUnixNano]).to.deep.equal(['0000', '9000000000000000000']);
  });

  it('keeps a bounded number while the receiver is away, drops whole traces, and sends the rest when it is back', async () => {
    receiver.status = 503;
    const exporter = open();
    for (let index = 0; index < MAX_QUEUED_SPANS / 2; index++) exporter.add([span('a'), span('b')]);
    exporter.add([span('c')]);
    expect(counts).to.deep.equal({ exported: 0, dropped: 1 });
    receiver.status = 200;
    await pollUntil(() => counts.exported === MAX_QUEUED_SPANS, 'all that were kept');
    await exporter.close();
  });

  it('drops what is refused for good', async () => {
    receiver.status = 400;
    const exporter = open();
    exporter.add([span('a')]);
    await pollUntil(() => counts.dropped === 1, 'a drop');
    await exporter.close();
  });

  it('counts as dropped what the receiver says that it rejected', async () => {
    receiver.answer = '{"partialSuccess":{"rejectedSpans":"1","errorMessage":"too old"}}';
    const exporter = open();
    exporter.add([span('a'), span('b'), span('c')]);
    await exporter.close();
    expect(counts).to.deep.equal({ exported: 2, dropped: 1 });
  });

  it('takes an answer of any size and sense for a yes, and keeps none of it', async () => {
    for (const answer of ['x'.repeat(1_000_000), 'null', '{"partialSuccess":{"rejectedSpans":-5}}', '']) {
      receiver.answer = answer;
      const exporter = open();
      exporter.add([span('a')]);
      await exporter.close();
    }
    expect(counts).to.deep.equal({ exported: 4, dropped: 0 });
  });

  it('follows no redirect, behind which a page would count as a receiver', async () => {
    const paths: string[] = [];
    const server = createServer((request, response) => {
      paths.push(`${request.method} ${request.url}`);
      const isPage = request.url === '/login';
      response.writeHead(isPage ? 200 : 302, isPage ? {} : { location: '/login' }).end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const exporter = open(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    exporter.add([span('a')]);
    await exporter.close();
    server.closeAllConnections();
    server.close();
    expect(paths).to.deep.equal(['POST /v1/traces']);
    expect(counts).to.deep.equal({ exported: 0, dropped: 1 });
  });

  it('ends in time where nobody listens', async () => {
    const exporter = open('http://127.0.0.1:1', 50);
    exporter.add([span('a')]);
    await exporter.close();
    expect(counts).to.deep.equal({ exported: 0, dropped: 1 });
  });
});
