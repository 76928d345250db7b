import { expect } from 'chai';
import { ApiError } from '../../../../gateway/http/error-response.ts';
import { createLog } from '../../../../gateway/telemetry/log.ts';
import { createTracer } from '../../../../gateway/tracing/recording.ts';
import { readTraceContext, type Tracer } from '../../../../gateway/tracing/span.ts';
import { openTracer } from '../../../../gateway/tracing/tracer.ts';
import { startTraceReceiver, type TraceReceiver } from '../../../support/trace-receiver.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const parentOf = (flags: string) =>
  readTraceContext({ traceparent: `00-${TRACE}-${PARENT}-${flags}`, tracestate: 'vendor=1' });

describe('a tracer', () => {
  let receiver: TraceReceiver;
  beforeEach(async () => {
    receiver = await startTraceReceiver();
  });
  afterEach(() => receiver.stop());

  const options = { resource: { 'service.name': 'test' }, log: createLog('silent'), onSpans: () => {} };
  const open = (sampleRatio: number, chance = 0.5): Tracer =>
    createTracer({ endpoint: receiver.endpoint, sampleRatio }, options, () => chance);
  const names = () => receiver.spans.map(({ name }) => name);

  it('is none without an endpoint', async () => expect(await openTracer(null, options)).to.equal(null));

  it('decides by the ratio for traces that begin here', async () => {
    for (const [ratio, chance, exported] of [
      [0, 0, []],
      [0.3, 0.2, ['root', 'step']],
      [0.3, 0.4, []],
      [1, 0.99, ['root', 'step']],
    ] as const) {
      receiver.spans.length = 0;
      const tracer = open(ratio, chance);
      const root = tracer.begin('root', { parent: null });
      root.begin('step').end();
      root.end();
      await tracer.close();
      expect(names(), `${ratio} ${chance}`).to.deep.equal(exported);
    }
  });

  it('follows the decision of whoever asks, and names its span to whom it asks', async () => {
    for (const [flags, exported] of [
      ['01', ['root']],
      ['03', ['root']],
      ['00', []],
    ] as const) {
      receiver.spans.length = 0;
      const tracer = open(0.5);
      const root = tracer.begin('root', { parent: parentOf(flags) });
      expect(root.traceId).to.equal(TRACE);
      expect(root.headers.tracestate).to.equal('vendor=1');
      const [, trace, id, passed] = root.headers.traceparent.split('-');
      expect([trace, passed]).to.deep.equal([TRACE, flags === '00' ? '00' : '01']);
      root.end();
      await tracer.close();
      expect(names()).to.deep.equal(exported);
      if (exported.length > 0)
        expect(receiver.spans[0]).to.include({ spanId: id, parentSpanId: PARENT, traceState: 'vendor=1' });
    }
  });

  it('exports what is not sampled where a step has failed, but not for what a caller did wrong or left', async () => {
    const ends: [unknown, string[], boolean][] = [
      [new ApiError('upstream_error', 'the engine said: secret prompt'), ['root', 'step'], true],
      [new TypeError('a bug'), ['root', 'step'], true],
      [new ApiError('rate_limit_exceeded', 'too many'), [], false],
      ['released', [], false],
      [undefined, [], false],
    ];
    for (const [error, exported] of ends) {
      receiver.spans.length = 0;
      const tracer = open(0);
      const root = tracer.begin('root', { parent: null });
      root.begin('step').end(error);
      root.end();
      await tracer.close();
      expect(names(), String(error)).to.deep.equal(exported);
    }
    expect(receiver.bodies.join()).to.contain('upstream_error').and.not.contain('secret');
  });

  it('ends steps that nobody ended with the request, once', async () => {
    const tracer = open(1);
    const root = tracer.begin('root', { parent: null, attributes: { a: 1, b: 0.5, c: true, d: undefined } });
    root.begin('step');
    root.rename('named');
    root.end();
    root.end();
    await tracer.close();
    expect(names()).to.deep.equal(['named', 'step']);
    expect(receiver.spans[1]!.end).to.equal(receiver.spans[0]!.end);
    expect(receiver.spans[0]!.attributes).to.deep.equal({ a: '1', b: 0.5, c: true });
  });
});
