import { expectError, postChat } from './envelope.ts';
import { endpoints, findEndpoint } from './installation.ts';

describe('who may call what', () => {
  it('answers the 404 envelope for a host that no deployment owns', async () => {
    const { apiKey } = findEndpoint('tiny-chat');
    expectError(await postChat({ baseURL: endpoints.unknownURL, apiKey }), 404, 'not_found');
  });

  it('answers 401 for a key of another workspace, either way', async () => {
    const own = findEndpoint('tiny-chat');
    const other = findEndpoint('tiny-chat', 'other');
    expectError(await postChat({ ...own, apiKey: other.apiKey }), 401, 'invalid_api_key');
    expectError(await postChat({ ...other, apiKey: own.apiKey }), 401, 'invalid_api_key');
  });

  it('answers 503 insufficient_quota where the credit is used up', async () => {
    expectError(await postChat(findEndpoint('tiny-chat', 'spent')), 503, 'insufficient_quota');
  });

  it('answers 401 without a key that exists', async () => {
    const own = findEndpoint('tiny-chat');
    expectError(await postChat({ ...own, apiKey: 'sk-berth-nobody' }), 401, 'invalid_api_key');
  });
});
