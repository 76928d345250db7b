import { expect } from 'chai';
import { EventAnswer } from '../../../../gateway/engine/event-answer.ts';
import type { Exchange } from '../../../../gateway/http/exchange.ts';

describe('an answer of events', () => {
  it('is that of the next engine alone where the first one refused', () => {
    const seen: object[] = [];
    const convert = (event: object) => {
      seen.push(event);
      return [];
    };
    const answer = new EventAnswer({} as Exchange, { convert, finish: () => [] });
    answer.write(Buffer.from('data: {"error":{"code":503,"message":"The request queue is full."}}\n\nda'));
    expect(answer.failure).to.have.property('code', 'replica_saturated');
    answer.restart();
    expect(answer.failure).to.equal(null);
    answer.write(Buffer.from('data: {"text":"a"}\n\n'));
    expect(seen).to.deep.equal([{ text: 'a' }]);
  });

  it('is not complete where the engine aborted it', () => {
    const answer = new EventAnswer({} as Exchange, { convert: () => [], finish: () => [] });
    answer.write(Buffer.from('data: {"choices":[{"delta":{"content":""},"finish_reason":"abort"}]}\n\n'));
    answer.write(Buffer.from('data: [DONE]\n\n'));
    expect(answer.failure).to.have.property('code', 'upstream_error');
    expect(answer.isComplete).to.equal(false);
  });
});
