import { expect } from 'chai';
import { DRAIN_TOKEN_HEADER } from '../../../api/gateway-environment.ts';
import { workKeys } from '../../../api/redis-keys.ts';
import { LEASE_MS } from '../../../redis/requests/request-calls.ts';
import { DRAIN_TOKEN } from '../../support/model-replica.ts';
import { pollUntil } from '../../support/poll.ts';

import { type JobStack, type Pod, startJobStack } from './job-stack.ts';

describe('jobs of replicas that go', () => {
  let stack: JobStack;
  let drainTimeoutMs = 10_000;

  beforeEach(async () => {
    stack = await startJobStack({
      kind: 'Video',
      jobSeconds: 1,
      pods: 2,
      env: { GATEWAY_DRAIN_TIMEOUT_MS: String(drainTimeoutMs) },
    });
  });
  afterEach(() => stack?.stop());

  const readWorker = async (id: string): Promise<{ worker: string; claim: string }> => {
    const [worker = '', claim = ''] = await stack.connection.redis.hmget(
      workKeys('team').request(id),
      'worker',
      'claim',
    );
    return { worker: worker ?? '', claim: claim ?? '' };
  };
  /** The pod that runs a request once its engine does. */
  const findPod = async (id: string): Promise<Pod> => {
    let found: Pod | undefined;
    await pollUntil(async () => {
      const { worker } = await readWorker(id);
      found = stack.pods.find(({ address }) => worker === `pod-${address}`);
      return found !== undefined && (await found.engine.read()).inflight > 0;
    }, 'a worker');
    return found!;
  };
  const setJobSeconds = (jobSeconds: number, pods = stack.pods) =>
    Promise.all(pods.map(({ engine }) => engine.control({ jobSeconds })));
  const findOther = (pod: Pod) => stack.pods.find((each) => each !== pod)!;
  /** At once, instead of when its time is over: that is another test's. */
  const endLease = (id: string) => stack.connection.redis.zadd(workKeys('team').leases, 'XX', 1, id);
  const startDrain = (pod: Pod) =>
    pod.replica.admin('/drain', { headers: { [DRAIN_TOKEN_HEADER]: DRAIN_TOKEN } });
  const untilDraining = (pod: Pod) =>
    pollUntil(() => pod.replica.program.output.includes('draining'), 'the drain');

  it('are claimed by another once their lease is over, and nobody outside sees it', async () => {
    await setJobSeconds(5);
    const id = await stack.submit();
    const pod = await findPod(id);
    const { startedAt } = await stack.read(id);
    await pod.crash();
    const crashed = performance.now();
    const claim = (await readWorker(id)).claim;
    await pollUntil(
      async () => ![claim, ''].includes((await readWorker(id)).claim),
      'the second claim',
      40_000,
    );
    const recoveryMs = performance.now() - crashed;
    expect((await stack.read(id)).status).to.equal('running');
    const record = await stack.untilIs(id, 'succeeded');
    expect(record.startedAt).to.equal(startedAt);
    expect(recoveryMs).to.be.below(30_000);
    if (process.env.SHOW) console.log(`recovered in ${Math.round(recoveryMs)} ms`);
    expect(stack.storage.listObjects()).to.have.length(1);
  });

  it('stay where they are while their gateway is starved for half a lease', async () => {
    // It still runs when the gateway goes on.
    await setJobSeconds(LEASE_MS / 2_000 + 3);
    const id = await stack.submit();
    const pod = await findPod(id);
    const { claim } = await readWorker(id);
    const { process } = pod.replica.program;
    process.kill('SIGSTOP');
    await new Promise((resolve) => setTimeout(resolve, LEASE_MS / 2));
    process.kill('SIGCONT');
    await stack.untilIs(id, 'succeeded', 40_000);
    expect((await readWorker(id)).claim).to.equal(claim);
    expect(await stack.connection.redis.hget(workKeys('team').request(id), 'attempts')).to.equal('1');
    expect(pod.replica.program.output).not.to.include('engine is unhealthy');
  });

  it('fail as worker_lost when the second replica is lost, too', async () => {
    await setJobSeconds(60);
    const id = await stack.submit();
    const first = await findPod(id);
    await first.crash();
    await endLease(id);
    const second = findOther(first);
    await pollUntil(async () => (await second.engine.read()).inflight > 0, 'the second attempt', 40_000);
    await second.crash();
    await endLease(id);
    const record = await stack.untilIs(id, 'failed', 40_000);
    expect(record.errorCode).to.equal('worker_lost');
    expect([...(await stack.readEvents()).keys()]).to.deep.equal([id]);
  });

  it('are released shortly before a drain must end, and go on elsewhere with the same start', async () => {
    await setJobSeconds(60);
    const id = await stack.submit();
    const pod = await findPod(id);
    const { startedAt } = await stack.read(id);
    const other = findOther(pod);
    // Set on the other only: an engine that has just started may not have read its duration yet.
    await setJobSeconds(1, [other]);
    const drained = startDrain(pod);
    await pollUntil(
      async () => (await readWorker(id)).worker === `pod-${other.address}`,
      'the other',
      40_000,
    );
    await pollUntil(async () => (await pod.engine.read()).inflight === 0, 'its engine lets go');
    const record = await stack.untilIs(id, 'succeeded');
    expect(record.startedAt).to.equal(startedAt);
    expect((await (await drained).text()).trim()).to.equal('drained');
    const attempts = await stack.connection.redis.hget(workKeys('team').request(id), 'attempts');
    expect(attempts).to.equal('1');
  });

  it('are released on SIGTERM when the time is short', async () => {
    await setJobSeconds(60);
    const id = await stack.submit();
    const pod = await findPod(id);
    const other = findOther(pod);
    await setJobSeconds(5, [other]);
    const stopped = pod.replica.stop('SIGTERM');
    await pollUntil(
      async () => (await readWorker(id)).worker === `pod-${other.address}`,
      'the other',
      40_000,
    );
    expect((await stack.read(id)).status).to.equal('running');
    await stopped;
    await stack.untilIs(id, 'succeeded');
  });

  describe('with time to end', () => {
    before(() => {
      drainTimeoutMs = 60_000;
    });

    it('go on elsewhere when their engine is killed in a drain, as when a pod is deleted by force', async () => {
      await setJobSeconds(60);
      const id = await stack.submit();
      const pod = await findPod(id);
      const other = findOther(pod);
      await setJobSeconds(1, [other]);
      void startDrain(pod).catch(() => {});
      await untilDraining(pod);
      await pod.engine.stop('SIGKILL');
      await pollUntil(
        async () => (await readWorker(id)).worker === `pod-${other.address}`,
        'the other',
        40_000,
      );
      await stack.untilIs(id, 'succeeded');
      expect([...(await stack.readEvents()).keys()]).to.deep.equal([id]);
    });

    it('are waited for by a drain, which claims nothing new', async () => {
      await setJobSeconds(5);
      const id = await stack.submit();
      const pod = await findPod(id);
      await setJobSeconds(1, [findOther(pod)]);
      const drained = startDrain(pod);
      await untilDraining(pod);
      const more = await Promise.all([stack.submit(), stack.submit(), stack.submit()]);
      await stack.untilIs(id, 'succeeded');
      expect((await readWorker(id)).worker).to.equal(`pod-${pod.address}`);
      expect((await (await drained).text()).trim()).to.equal('drained');
      for (const each of more) {
        await stack.untilIs(each, 'succeeded');
        expect((await readWorker(each)).worker).not.to.equal(`pod-${pod.address}`);
      }
    });
  });
});

describe('jobs while Redis is away', () => {
  let stack: JobStack;

  before(async () => {
    stack = await startJobStack({ kind: 'Video', jobSeconds: 4, graceMs: 10_000 });
  });
  after(() => stack?.stop());

  it('go on, and end when it is back', async () => {
    const id = await stack.submit();
    await pollUntil(async () => (await stack.pods[0]!.engine.read()).inflight === 1, 'the job runs');
    await stack.server.kill();
    await pollUntil(async () => (await stack.pods[0]!.engine.read()).inflight === 0, 'the engine is done');
    await stack.server.restart();
    await stack.untilIs(id, 'succeeded');
    expect([...(await stack.readEvents()).keys()]).to.deep.equal([id]);
    expect(stack.storage.listObjects()).to.have.length(1);
    expect((await stack.pods[0]!.engine.read()).requests).to.equal(1);
  });

  it('are claimed soon after it is back', async () => {
    await stack.server.restart();
    await stack.connection.untilUp(60_000);
    await stack.untilIs(await stack.submit(), 'running', 20_000);
  });
});
