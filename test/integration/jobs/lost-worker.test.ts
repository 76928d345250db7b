import { expect } from 'chai';
import { pollUntil } from '../../support/poll.ts';

import { type JobStack, startJobStack } from './job-stack.ts';

describe('an engine of videos that has lost its worker, its health check at 200', () => {
  let stack: JobStack;
  before(async () => {
    stack = await startJobStack({
      kind: 'Video',
      spec: { concurrency: 2, engine: { preset: 'simulator', stallTimeout: '31s' } },
    });
  });
  after(() => stack?.stop());

  it('is detected by two jobs without progress, although it answers each poll', async () => {
    const [pod] = stack.pods;
    await pod!.engine.control({ fault: { kind: 'hang', afterFrames: 0 }, faultTimes: 2 });
    await Promise.all([stack.submit(), stack.submit()]);
    await pollUntil(async () => (await pod!.engine.read()).inflight === 2, 'both jobs');
    expect((await pod!.replica.admin('/readyz')).status).to.equal(200);
    await pollUntil(async () => !(await pod!.replica.admin('/readyz')).ok, 'unready', 90_000);
    const liveness = await pod!.replica.admin('/engine/liveness');
    expect(liveness.status).to.equal(503);
    expect(await liveness.text()).to.match(/2 requests waited 3\d s without any output/);
  });
});
