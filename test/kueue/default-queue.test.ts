/** A LocalQueue named `default` appears next to deployments without a queue. */
import { expect } from 'chai';
import { useKueue } from './kueue-harness.ts';
import { FRAMEWORKS } from './kueue-process.ts';
import { until } from './queued-deployments.ts';

describe('a ready deployment without a queue, once its namespace has a LocalQueue named default', function () {
  this.timeout(900_000);
  const kueue = useKueue();
  const name = 'plain';

  it('is ready before', async () => {
    await kueue.queued.createUnqueued(name, {});
    await kueue.queued.untilReady(name);
    await kueue.queued.createQueue('default');
  });

  it('says that a change is refused, in Kueue’s words, and goes on serving', async () => {
    const [pod] = await kueue.queued.podNames(name);
    await kueue.queued.change(name, { engine: { env: [{ name: 'SIMULATOR_TTFT_MS', value: '20' }] } });
    await until('the refusal', async () => {
      const accepted = await kueue.queued.condition(name, 'Accepted');
      return accepted?.status === 'False' && accepted.reason === 'Forbidden';
    });
    const { message } = (await kueue.queued.condition(name, 'Accepted'))!;
    expect(message).to.match(/kueue\.x-k8s\.io\/queue-name.*field is immutable/);
    expect(await kueue.queued.condition(name, 'Ready')).to.include({ status: 'True' });
    expect(await kueue.queued.condition(name, 'Reconciling')).to.include({ status: 'True' });
    expect(await kueue.queued.podNames(name)).to.deep.equal([pod]);
  });

  it('can be paused and scaled all the same', async () => {
    await kueue.queued.change(name, { paused: true });
    await kueue.queued.untilNoPods(name);
    await kueue.queued.change(name, { paused: false });
    await kueue.queued.untilReady(name);
  });
});

describe('a deployment in a full queue, where Kueue takes ModelDeployments for an external framework', function () {
  this.timeout(900_000);
  const externalFrameworks = ['ModelDeployment.v1alpha1.berth.dev'];
  const kueue = useKueue({ integrations: { frameworks: FRAMEWORKS, externalFrameworks } });

  it('is not held back', async () => {
    await kueue.queued.create('first');
    await kueue.queued.untilReady('first');
    const [pod] = await kueue.queued.pods('first');
    expect(pod!.metadata.finalizers ?? []).to.not.include('kueue.x-k8s.io/managed');
    await kueue.queued.create('second');
    await until('the scheduler to look for a node', async () => {
      const [second] = await kueue.queued.pods('second');
      const scheduled = second?.status?.conditions?.find(({ type }) => type === 'PodScheduled');
      return scheduled?.reason === 'Unschedulable';
    });
    expect((await kueue.queued.pods('second'))[0]!.spec!.schedulingGates ?? []).to.deep.equal([]);
  });
});
