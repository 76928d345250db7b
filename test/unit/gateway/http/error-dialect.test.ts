import { expect } from 'chai';
import type { ErrorCode } from '../../../../api/errors.ts';
import { formatErrorEvent } from '../../../../gateway/http/error-event.ts';
import {
  ApiError,
  anthropicStatus,
  buildAnthropicError,
  readErrorDialect,
} from '../../../../gateway/http/error-response.ts';

describe('the dialect of an error', () => {
  const read = (url: string, headers: Record<string, string> = {}) => readErrorDialect({ url, headers });

  it('is Anthropic’s on its routes, and to its SDKs on all others', () => {
    expect(read('/v1/messages?beta=true')).to.equal('anthropic');
    expect(read('/v1/messages/batches')).to.equal('anthropic');
    for (const url of ['/v1/v1/messages', '//v1/messages/']) expect(read(url)).to.equal('anthropic');
    expect(read('/v1/models', { 'anthropic-version': '2023-06-01' })).to.equal('anthropic');
  });

  it('is Cohere’s on the routes of its second version', () => {
    for (const url of ['/v2/rerank', '/v1/v2/rerank', '/v2/nothing']) expect(read(url)).to.equal('cohere');
  });

  it('is OpenAI’s otherwise', () => {
    expect(read('/v1/responses')).to.equal('openai');
    expect(read('/v1/nothing')).to.equal('openai');
  });
});

describe('an error in Anthropic’s dialect', () => {
  const table: [ErrorCode, number, string][] = [
    ['invalid_request_error', 400, 'invalid_request_error'],
    ['invalid_api_key', 401, 'authentication_error'],
    ['insufficient_quota', 402, 'billing_error'],
    ['not_found', 404, 'not_found_error'],
    ['method_not_allowed', 405, 'invalid_request_error'],
    ['request_too_large', 413, 'request_too_large'],
    ['rate_limit_exceeded', 429, 'rate_limit_error'],
    ['replica_saturated', 529, 'overloaded_error'],
    ['no_pod_available', 503, 'overloaded_error'],
    ['upstream_error', 502, 'api_error'],
    ['internal_error', 500, 'api_error'],
  ];
  for (const [code, status, type] of table)
    it(`is ${status} ${type} for ${code}`, () => {
      const error = new ApiError(code, 'No.');
      expect(anthropicStatus(error)).to.equal(status);
      expect(buildAnthropicError(error, 'id')).to.deep.equal({
        type: 'error',
        error: { type, message: 'No.' },
        request_id: 'id',
      });
    });
});

describe('the last event of a stream that breaks', () => {
  const error = new ApiError('upstream_error', 'It broke.');
  const format = (url: string, events?: number) =>
    formatErrorEvent(error, { req: { url, headers: {} }, requestId: 'id', events });
  const parse = (text: string) => JSON.parse(/data: (.*)\n\n$/.exec(text)![1]!);

  it('is the envelope for a chat', () => {
    expect(format('/v1/chat/completions')).to.match(/^data: /);
    expect(parse(format('/v1/chat/completions')).error.code).to.equal('upstream_error');
  });

  it('is a numbered error event for a response, with the envelope by which SDKs throw', () => {
    expect(format('/v1//responses', 5)).to.equal(format('/v1/responses', 5));
    const text = format('/v1/responses', 5);
    expect(text).to.match(/^event: error\n/);
    expect(parse(text)).to.include({
      type: 'error',
      sequence_number: 5,
      code: 'upstream_error',
      message: 'It broke.',
    });
    expect(parse(text).error).to.include({ code: 'upstream_error', type: 'upstream_error' });
  });

  it('is Anthropic’s error event for a message', () => {
    const text = format('/v1/messages?beta=true');
    expect(text).to.match(/^event: error\n/);
    expect(parse(text)).to.deep.equal({
      type: 'error',
      error: { type: 'api_error', message: 'It broke.' },
      request_id: 'id',
    });
  });
});
