import type { IncomingMessage, ServerResponse } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import { beginRequestSpan, Exchange } from '../../../../gateway/http/exchange.ts';
import type { RootOptions, Span } from '../../../../gateway/tracing/span.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

function measureHeap(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

const begin = (req: Partial<IncomingMessage>) => {
  const options: RootOptions[] = [];
  const tracer = {
    begin: (_: string, more: RootOptions) => {
      options.push(more);
      return {} as Span;
    },
    close: async () => {},
  };
  const res = { on: () => res } as unknown as ServerResponse;
  beginRequestSpan(tracer, new Exchange({ headers: {}, ...req } as IncomingMessage, res, 'id'));
  return options[0]!.attributes!;
};

describe('the span of a request', () => {
  it('names the host without its port, and the path without its query', () => {
    const attributes = begin({
      method: 'GET',
      url: '/v1/models?a=b',
      headers: { host: 'api.example.com:8080' },
    });
    expect(attributes).to.include({ 'server.address': 'api.example.com', 'url.path': '/v1/models' });
  });

  it('keeps a bounded part of what callers choose: thousands of spans may wait in memory', () => {
    const choose = (n: number) => Buffer.alloc(8_000, `a${n}`).toString('latin1');
    const before = measureHeap();
    const spans = Array.from({ length: 500 }, (_, n) =>
      begin({ method: 'GET', url: `/models/of/a-workspace?${choose(n)}`, headers: { host: choose(n) } }),
    );
    expect((measureHeap() - before) / spans.length).to.be.below(2_000);
    expect(spans[0]!['server.address']).to.have.length(256);
  });
});
