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

  it('are only as many as there is room for, however their values are stored', () => {
    const names = ['content-type', 'date', 'location', 'retry-after', 'server', 'via', 'x-request-id'];
    const kept = keepAnswerHeaders(Object.fromEntries(names.map((name) => [name, '\\'.repeat(120)])));
    expect(kept).to.have.keys('content-type');
    expect(JSON.stringify(JSON.stringify(kept)).length).to.be.below(640);
    const usual = {
      'content-type': 'application/json; charset=utf-8',
      'content-length': '65536',
      date: 'Tue, 24 Nov 2026 11:00:00 GMT',
      location: `https://example.com/${'path/'.repeat(20)}`,
      server: 'nginx/1.29.3 (Ubuntu)',
      via: '1.1 varnish, 1.1 0123456789abcdef.cloudfront.net (CloudFront)',
      'x-request-id': '01234567-89ab-cdef-0123-456789abcdef',
    };
    expect(keepAnswerHeaders(usual)).to.deep.equal(usual);
  });
});
