import { expect } from 'chai';
import { workKeys } from '../../../api/redis-keys.ts';
import { type Sweeper, startSweeper } from '../../../gateway/front/housekeeping/sweeper.ts';
import { createLog } from '../../../gateway/telemetry/log.ts';
import { claimRequest, submitRequest } from '../../../redis/requests/request-calls.ts';
import { readRequest } from '../../../redis/requests/request-record.ts';
import { createExpiryGate } from '../../../redis/requests/request-sweep.ts';
import { pollUntil } from '../../support/poll.ts';
import { newToken, publishMedia, submissionOf } from '../../support/request-fixture.ts';
import { TestStack } from '../../support/test-stack.ts';

describe('the sweeper', () => {
  let stack: TestStack;
  let sweeper: Sweeper | undefined;
  const deployment = 'film';
  beforeEach(async () => {
    stack = await TestStack.start({ isStrict: true });
  });
  afterEach(async () => {
    await sweeper?.close();
    await stack?.stop();
  });

  const start = (workspaces: string[], graceMs = 0) => {
    const gate = createExpiryGate({ graceMs });
    stack.connection.onStateChange(() => gate.reset());
    sweeper = startSweeper({
      redis: stack.redis,
      gate,
      listWorkspaces: async () => workspaces,
      log: createLog('silent'),
      intervalMs: 50,
    });
  };
  const submit = async (namespace: string) => {
    const submission = submissionOf({ namespace, deployment });
    await submitRequest(stack.redis, submission);
    return submission.id;
  };
  const loseWorker = (namespace: string, leaseMs = 100) =>
    claimRequest(stack.redis, { namespace, deployment, token: newToken(), leaseMs, pod: 'pod-1' });
  const read = async (namespace: string, id: string) => (await readRequest(stack.redis, namespace, id))!;

  it('gives requests of lost workers a second attempt, and ends them after that', async () => {
    await publishMedia(stack.redis, { namespace: 'a', name: deployment });
    start(['a']);
    const id = await submit('a');
    await loseWorker('a');
    await pollUntil(async () => (await loseWorker('a')) !== null, 'the second attempt');
    await pollUntil(async () => (await read('a', id)).status === 'failed', 'the end');
    expect(await read('a', id)).to.include({ errorCode: 'worker_lost' });
  });

  it('goes on with all others when one workspace cannot be swept', async () => {
    for (const namespace of ['a', 'b']) await publishMedia(stack.redis, { namespace, name: deployment });
    await stack.redis.set('w:{a}:leases', 'no sorted set');
    start(['a', 'b']);
    const id = await submit('b');
    for (let attempt = 0; attempt < 2; attempt++)
      await pollUntil(async () => (await loseWorker('b')) !== null, 'a claim');
    await pollUntil(async () => (await read('b', id)).status === 'failed', 'the end');
  });

  it('ends hundreds at once, in every workspace', async () => {
    for (const namespace of ['a', 'b'])
      await publishMedia(stack.redis, { namespace, name: deployment, limits: { queueTTLMs: 1 } });
    for (const namespace of ['a', 'b']) for (let index = 0; index < 250; index++) await submit(namespace);
    start(['a', 'b']);
    for (const namespace of ['a', 'b'])
      await pollUntil(
        async () => (await stack.redis.zcard(workKeys(namespace).index(deployment, 'failed'))) === 250,
        `the end of all of ${namespace}`,
      );
  });

  it('lets nothing expire just after a restart of Redis', async () => {
    await publishMedia(stack.redis, { namespace: 'a', name: deployment });
    const id = await submit('a');
    await loseWorker('a');
    await stack.server.restart();
    await pollUntil(() => stack.connection.state === 'up', 'Redis');
    const started = performance.now();
    start(['a'], 1_000);
    await pollUntil(async () => (await loseWorker('a', 60_000)) !== null, 'the second attempt');
    expect(performance.now() - started).to.be.above(900);
    expect((await read('a', id)).status).to.equal('running');
  });
});
