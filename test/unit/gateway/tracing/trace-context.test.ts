import { expect } from 'chai';
import { readTraceContext } from '../../../../gateway/tracing/span.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = `00-${TRACE}-b7ad6b7169203331-01`;

describe("the caller's trace context", () => {
  it('is read, and kept as it came', () => {
    expect(readTraceContext({ traceparent: PARENT, tracestate: 'vendor=1' })).to.deep.equal({
      traceId: TRACE,
      headers: { traceparent: PARENT, tracestate: 'vendor=1' },
    });
    expect(readTraceContext({ traceparent: PARENT })?.headers).to.deep.equal({ traceparent: PARENT });
  });

  it('may be of a later version, which says more', () => {
    expect(readTraceContext({ traceparent: `01-${PARENT.slice(3)}-more` })?.traceId).to.equal(TRACE);
  });

  it('is dropped where it is invalid', () => {
    const zeros = `00-${'0'.repeat(32)}-b7ad6b7169203331-01`;
    const noSpan = `00-${TRACE}-${'0'.repeat(16)}-01`;
    for (const traceparent of [
      zeros,
      noSpan,
      PARENT.toUpperCase(),
      `${PARENT}-more`,
      `ff${PARENT.slice(2)}`,
      `01-${PARENT.slice(3)}-${'x'.repeat(100)}`,
      'a',
    ])
      expect(readTraceContext({ traceparent }), traceparent).to.equal(null);
    expect(readTraceContext({ tracestate: 'vendor=1' })).to.equal(null);
  });

  it('loses a state that no header may have, or that is longer than the specification allows', () => {
    for (const tracestate of ['a\n', 'x'.repeat(513)])
      expect(readTraceContext({ traceparent: PARENT, tracestate })?.headers).to.have.keys(['traceparent']);
  });
});
