/** A real Kueue with quota for one GPU, Kubernetes' own scheduler, the operator and a front: what they say of each other. */
import { expect } from 'chai';
import { KUEUE } from '../../api/names.ts';
import { useKueue } from './kueue-harness.ts';
import { QUEUE, until } from './queued-deployments.ts';

const LACK =
  /^waiting for quota of queue gpus: .*insufficient unused quota for nvidia\.com\/gpu in flavor h100, 1 more needed/;
/** By then, the autoscaler would have withdrawn pods for which the cluster has no node. */
const PATIENCE_MS = 135_000;
/** Longer than the operator takes to say what a pod waits for. */
const DRAIN_MS = 25_000;
const ROLLOUT_DRAIN_MS = 3_000;

describe('a deployment in a queue of Kueue with quota for one GPU', function () {
  this.timeout(900_000);
  const kueue = useKueue();

  it('is admitted within the quota', async () => {
    await kueue.queued.create('first');
    await kueue.queued.untilReady('first');
    const [pod] = await kueue.queued.pods('first');
    expect(pod!.metadata.labels).to.include({ [KUEUE.queue]: QUEUE, 'kueue.x-k8s.io/managed': 'true' });
    expect(await kueue.queued.condition('first', 'GPUsAvailable')).to.include({
      status: 'True',
      reason: 'Scheduled',
    });
  });

  it('waits where the quota is used up, as its status and its endpoint say', async () => {
    const coldStart = { mode: 'Hold', holdFor: '5m' };
    await kueue.queued.create('second', { scaling: { min: 2, max: 3, coldStart } });
    const { message } = await kueue.queued.untilGPUs('second', 'WaitingForQuota', LACK);
    expect((await kueue.queued.status('second')).phase).to.equal('Pending');
    expect(await kueue.queued.condition('second', 'Ready')).to.include({
      status: 'False',
      reason: 'WaitingForQuota',
      message,
    });
    await kueue.queued.untilQueueAnswer('second');
  });

  it('keeps its pods while they wait, and reports no shortage', async () => {
    const startedAt = Date.now();
    await until('the autoscaler to run out of patience', async () => {
      expect(await kueue.queued.podNames('second')).to.have.length(2);
      return Date.now() - startedAt > PATIENCE_MS;
    });
    expect(await kueue.queued.status('second')).to.include({ desiredReplicas: 2, phase: 'Pending' });
    await kueue.queued.untilGPUs('second', 'WaitingForQuota', LACK);
    await kueue.queued.untilQueueAnswer('second');
    await kueue.queued.expectNoShortage('second');
  });

  it('is admitted once another one is paused, as far as the quota goes', async () => {
    await kueue.queued.change('first', { paused: true });
    await kueue.queued.untilReady('second');
    await kueue.queued.untilGPUs('second', 'WaitingForQuota', LACK);
    expect((await kueue.queued.status('second')).readyReplicas).to.equal(1);
    await kueue.queued.expectNoShortage('second');
    await kueue.queued.change('second', { scaling: null, replicas: 1 });
    await until('one pod', async () => (await kueue.queued.podNames('second')).length === 1);
    await kueue.queued.untilGPUs('second', 'Scheduled');
  });

  it('has Kueue’s words on a queue that does not exist', async () => {
    await kueue.queued.create('lost', {}, { [KUEUE.queue]: 'no-such-queue' });
    const words = /^waiting for quota of queue no-such-queue: .*no-such-queue doesn't exist/;
    await kueue.queued.untilGPUs('lost', 'WaitingForQuota', words);
    await kueue.queued.delete('lost');
    await kueue.queued.untilNoPods('lost');
  });

  it('has Kueue’s words on a queue that does not cover what its pods ask for', async () => {
    await kueue.queued.create('uncovered', {}, { [KUEUE.queue]: 'only-gpus' });
    const words =
      /^waiting for quota of queue only-gpus: .*resource (cpu|memory) unavailable in ClusterQueue/;
    await kueue.queued.untilGPUs('uncovered', 'WaitingForQuota', words);
    await kueue.queued.delete('uncovered');
    await kueue.queued.untilNoPods('uncovered');
  });

  it('is preempted for a higher priority, which waits until it has drained', async () => {
    kueue.node.drainMs = DRAIN_MS;
    const [leaving] = await kueue.queued.podNames('second');
    await kueue.queued.create('urgent', {}, { [KUEUE.priority]: 'urgent' });
    const { status, message } = await kueue.queued.untilGPUs('urgent', 'WaitingForDrain');
    expect(status).to.equal('False');
    expect(message).to.match(/^waiting for 1 pod to drain and free GPUs \(by .*Z\)$/);
    expect(await kueue.queued.podNames('second')).to.include(leaving);
    const notes = await kueue.queued.eventNotes('second', 'Preempted');
    expect(notes).to.have.length(1);
    expect(notes[0]).to.match(/Preempted to accommodate a workload .* due to prioritization/);
    await kueue.queued.untilReady('urgent');
    expect(await kueue.queued.podNames('second')).to.not.include(leaving);
    await kueue.queued.expectNoShortage('urgent');
    await kueue.queued.untilGPUs('second', 'WaitingForQuota', LACK);
    await kueue.queued.untilQueueAnswer('second');
    await kueue.queued.expectNoShortage('second');
  });

  it('is rolled while the quota is full', async () => {
    kueue.node.drainMs = ROLLOUT_DRAIN_MS;
    const [former] = await kueue.queued.podNames('urgent');
    await kueue.queued.change('urgent', { rollout: { revision: 'second' } });
    await until('another pod alone', async () => {
      const names = await kueue.queued.podNames('urgent');
      return names.length === 1 && !names.includes(former!);
    });
    await kueue.queued.untilReady('urgent');
    await kueue.queued.expectNoShortage('urgent');
    await kueue.queued.untilGPUs('second', 'WaitingForQuota', LACK);
  });

  it('loses its place by a rollout to one of the same priority that waits', async () => {
    await kueue.queued.delete('urgent');
    await kueue.queued.untilReady('second');
    await kueue.queued.change('first', { paused: false });
    await kueue.queued.untilGPUs('first', 'WaitingForQuota', LACK);
    await kueue.queued.change('second', { rollout: { revision: 'second' } });
    await kueue.queued.untilReady('first');
    await kueue.queued.untilGPUs('second', 'WaitingForQuota', LACK);
  });

  it('leaves nothing behind when it is deleted, whether it serves or waits', async () => {
    for (const name of ['first', 'second']) await kueue.queued.delete(name);
    await kueue.queued.untilNoPods('first', 'second', 'urgent');
    await kueue.queued.untilNoWorkloads();
  });
});
