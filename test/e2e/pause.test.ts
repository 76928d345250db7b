import { expect } from 'chai';
import { type Answer, expectError, postChat } from './envelope.ts';
import { findEndpoint, patchModel, waitForModel, waitUntil } from './installation.ts';

describe('pausing', function () {
  this.timeout(600_000);
  const endpoint = findEndpoint('paused-chat');
  after(() => patchModel('paused-chat', { paused: true }));

  /** Every response is the gateway's or the front's: an error page of a proxy would have no envelope. */
  async function watchUntil(status: number): Promise<void> {
    await waitUntil(`status ${status}`, 180, async () => {
      const answer: Answer = await postChat(endpoint);
      if (answer.status !== 200) expectError(answer, 503, 'no_pod_available');
      return answer.status === status;
    });
  }

  it('answers 503 no_pod_available while paused, and that a retry makes no sense', async () => {
    const answer = await postChat(endpoint);
    expectError(answer, 503, 'no_pod_available');
    expect(answer.headers.get('retry-after')).to.equal(null);
    expect(answer.headers.get('x-should-retry')).to.equal('false');
  });

  it('serves once unpaused, with no foreign error page on the way', async () => {
    await patchModel('paused-chat', { paused: false });
    await watchUntil(200);
    await waitForModel('paused-chat');
  });

  it('answers 503 again once paused, with no foreign error page on the way', async () => {
    await patchModel('paused-chat', { paused: true });
    await watchUntil(503);
    await waitForModel('paused-chat');
    expectError(await postChat(endpoint), 503, 'no_pod_available');
  });
});
