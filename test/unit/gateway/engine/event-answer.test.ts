import { expect } from 'chai';
import { EventAnswer } from '../../../../gateway/engine/event-answer.ts';
import type { Exchange } from '../../../../gateway/http/exchange.ts';

describe('an answer of events', () => {
  it('is not complete where the engine aborted it', () => {
    const answer = new EventAnswer({} as Exchange, { convert: () => [], finish: () => [] });
    answer.write(Buffer.from('data: {"choices":[{"delta":{"content":""},"finish_reason":"abort"}]}\n\n'));
    answer.write(Buffer.from('data: [DONE]\n\n'));
    expect(answer.failure).to.have.property('code', 'upstream_error');
    expect(answer.isComplete).to.equal(false);
  });
});
