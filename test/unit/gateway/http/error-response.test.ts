import { expect } from 'chai';
import {
  ApiError,
  buildEnvelope,
  explainRedisOutage,
  setDocumentationSite,
} from '../../../../gateway/http/error-response.ts';

describe('documentation_url of an error', () => {
  afterEach(() => setDocumentationSite(undefined));
  const error = new ApiError('not_found', 'There is no /v2 here.');

  it('leads to the code on the site of the installation', () => {
    setDocumentationSite('https://console.example.com/docs');
    expect(buildEnvelope(error).error.documentation_url).to.equal(
      'https://console.example.com/docs/errors#not_found',
    );
  });

  it('is left out where nothing is published', () => {
    expect(buildEnvelope(error).error).to.deep.equal({
      message: 'There is no /v2 here.',
      type: 'invalid_request_error',
      param: null,
      code: 'not_found',
    });
  });
});

describe('an outage of Redis', () => {
  it('is not what an error quotes of a client or an engine', () => {
    for (const message of [
      '`temperature` must be a number, not "can\'t run this".',
      'OOM: reduce max_tokens',
    ]) {
      const error = new ApiError('invalid_request_error', message);
      expect(explainRedisOutage(error)).to.equal(error);
    }
  });

  it('is answered 503 with Retry-After', () => {
    const error = explainRedisOutage(new Error('Connection is closed.')) as ApiError;
    expect([error.status, error.code, error.details.retryAfter]).to.deep.equal([
      503,
      'temporarily_unavailable',
      2,
    ]);
  });

  it('is distinguished from other errors, which stay as they are', () => {
    const error = new Error('ERR a mistake');
    expect(explainRedisOutage(error)).to.equal(error);
  });
});
