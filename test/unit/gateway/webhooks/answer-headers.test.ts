import { expect } from 'chai';
import { keepAnswerHeaders } from '../../../../gateway/webhooks/answer-headers.ts';

describe('the headers of an answer in the log of deliveries', () => {
  it('are those that explain it, short and printable', () => {
    const kept = keepAnswerHeaders({
      'content-type': 'text/html',
      'retry-after': '30',
      'set-cookie': ['session=1'],
      'www-authenticate': 'Basic realm="inside"',
      server: `\u001b[2J${'n'.repeat(1_000)}`,
    });
    expect(kept).to.deep.equal({
      'content-type': 'text/html',
      'retry-after': '30',
      server: `?[2J${'n'.repeat(116)}`,
    });
  });
});
