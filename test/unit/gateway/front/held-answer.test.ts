import { expect } from 'chai';
import { HeldAnswer } from '../../../../gateway/front/held-answer.ts';
import type { Exchange } from '../../../../gateway/http/exchange.ts';

describe('a replica’s answer to a held request', () => {
  const answer = (status: number, code: string, { headers = {}, isRepeatable = true } = {}) => {
    const passed: number[] = [];
    const res = { writeHead: (sent: number) => passed.push(sent), write: () => true, end: () => {} };
    const req = { complete: true, headers: {}, url: '/v1/chat/completions' };
    const exchange = { req, res, stream: null, countEvents: null } as unknown as Exchange;
    const held = new HeldAnswer({ exchange, isRepeatable, onPass: () => {} });
    held.begin(status, { 'content-length': '1', ...headers });
    held.write(Buffer.from(JSON.stringify({ error: { code, message: 'Wait.' } })));
    held.end();
    return { again: held.saturation?.code, passed };
  };

  it('is awaited again where the replica has no place, or no engine any more', () => {
    expect(answer(429, 'replica_saturated')).to.deep.equal({ again: 'replica_saturated', passed: [] });
    expect(answer(503, 'no_pod_available')).to.deep.equal({ again: 'no_pod_available', passed: [] });
  });

  it('stays an error that no retry helps against in a stream that has started', () => {
    const exchange = { req: { headers: {} }, res: {}, stream: {}, countEvents: null } as unknown as Exchange;
    const held = new HeldAnswer({
      exchange,
      isRepeatable: true,
      onPass: () => {},
    });
    held.begin(503, { 'content-type': 'application/json', 'x-should-retry': 'false' });
    held.write(Buffer.from(JSON.stringify({ error: { code: 'no_pod_available', message: 'Paused.' } })));
    held.end();
    expect(held.failure).to.include({ code: 'no_pod_available', mayRetry: false });
    expect(held.failure!.details.retryAfter).to.equal(undefined);
  });

  it('is passed on where it is the last word, or the request cannot be sent again', () => {
    expect(answer(429, 'rate_limit_exceeded').passed).to.deep.equal([429]);
    expect(answer(503, 'temporarily_unavailable').passed).to.deep.equal([503]);
    const headers = { 'x-should-retry': 'false' };
    expect(answer(503, 'no_pod_available', { headers }).passed).to.deep.equal([503]);
    expect(answer(429, 'replica_saturated', { isRepeatable: false }).passed).to.deep.equal([429]);
  });
});
