/** Kueue's `waitForPodsReady`, with a timeout below the time that a start takes. */
import { expect } from 'chai';
import { useKueue } from './kueue-harness.ts';
import { until } from './queued-deployments.ts';

describe('a deployment that starts for longer than waitForPodsReady of Kueue allows', function () {
  this.timeout(900_000);
  const kueue = useKueue({ waitForPodsReady: { timeout: '5s', blockAdmission: false } });
  const name = 'slow';

  it('says that its pods are evicted before they are ready, in Kueue’s words', async () => {
    kueue.node.isSlow = true;
    await kueue.queued.create(name);
    const { status } = await kueue.queued.untilGPUs(
      name,
      'EvictedBeforeReady',
      /^evicted \d+ times before a pod was ready: /,
    );
    expect(status).to.equal('False');
    const [note] = await kueue.queued.eventNotes(name, 'Evicted');
    expect(note).to.match(/PodsReady/);
    await kueue.queued.expectNoShortage(name);
  });

  it('says so no more once a pod is ready', async () => {
    kueue.node.isSlow = false;
    await kueue.queued.untilReady(name);
    await kueue.queued.untilGPUs(name, 'Scheduled');
    await kueue.queued.delete(name);
    await until('the end of its pods', async () => (await kueue.queued.podNames(name)).length === 0);
  });
});
