import { expect } from 'chai';
import { ApiError, buildEnvelope, setDocumentationSite } from '../../../../gateway/http/error-response.ts';

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
