import { expect } from 'chai';
import { workKeys } from '../../../api/redis-keys.ts';
import { type Sweeper, startSweeper } from '../../../gateway/front/housekeeping/sweeper.ts';
import { createLog } from '../../../gateway/telemetry/log.ts';
import type { RedisConnection } from '../../../redis/client.ts';
import { loadLibrary } from '../../../redis/library.ts';
import { claimRequest, submitRequest } from '../../../redis/requests/request-calls.ts';
import { readRequest } from '../../../redis/requests/request-record.ts';
import { createExpiryGate } from '../../../redis/requests/request-sweep.ts';
import { pollUntil } from '../../support/poll.ts';
import { connectTo } from '../../support/redis-client.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { newToken, publishMedia, submissionOf } from '../../support/request-fixture.ts';

describe('the sweeper', () => {
  let server: RedisServer;
  let connection: RedisConnection;
  let sweeper: Sweeper | undefined;
  const deployment = 'film';
  beforeEach(async () => {
    server = await startRedis({ isStrict: true });
    connection = await connectTo(server);
    await loadLibrary(connection.redis);
  });
  afterEach(async () => {
    await sweeper?.close();
    await connection.close();
    await server.stop();
  });

  const start = (workspaces: string[], graceMs = 0) => {
    const gate = createExpiryGate({ graceMs });
    connection.onStateChange(() => gate.reset());
    sweeper = startSweeper({
      redis: connection.redis,
      gate,
      listWorkspaces: async () => workspaces,
      log: createLog('silent'),
      intervalMs: 50,
    });
  };
  const submit = async (namespace: string) => {
    const submission = submissionOf({ namespace, deployment });
    await submitRequest(connection.redis, submission);
    return submission.id;
  };
  const loseWorker = (namespace: string, leaseMs = 100) =>
    claimRequest(connection.redis, { namespace, deployment, token: newToken(), leaseMs, pod: 'pod-1' });
  const read = async (namespace: string, id: string) => (await readRequest(connection.redis, namespace, id))!;

  it('gives requests of lost workers a second attempt, and ends them after that', async () => {
    await publishMedia(connection.redis, { namespace: 'a', name: deployment });
    start(['a']);
    const id = await submit('a');
    await loseWorker('a');
    await pollUntil(async () => (await loseWorker('a')) !== null, 'the second attempt');
    await pollUntil(async () => (await read('a', id)).status === 'failed', 'the end');
    expect(await read('a', id)).to.include({ errorCode: 'worker_lost' });
  });

  it('goes on with all others when one workspace cannot be swept', async () => {
    for (const namespace of ['a', 'b']) await publishMedia(connection.redis, { namespace, name: deployment });
    await connection.redis.set('w:{a}:leases', 'no sorted set');
    start(['a', 'b']);
    const id = await submit('b');
    for (let attempt = 0; attempt < 2; attempt++)
      await pollUntil(async () => (await loseWorker('b')) !== null, 'a claim');
    await pollUntil(async () => (await read('b', id)).status === 'failed', 'the end');
  });

  it('ends hundreds at once, in every workspace', async () => {
    for (const namespace of ['a', 'b'])
      await publishMedia(connection.redis, { namespace, name: deployment, limits: { queueTTLMs: 1 } });
    for (const namespace of ['a', 'b']) for (let index = 0; index < 250; index++) await submit(namespace);
    start(['a', 'b']);
    for (const namespace of ['a', 'b'])
      await pollUntil(
        async () => (await connection.redis.zcard(workKeys(namespace).index(deployment, 'failed'))) === 250,
        `the end of all of ${namespace}`,
      );
  });

  it('lets nothing expire just after a restart of Redis', async () => {
    await publishMedia(connection.redis, { namespace: 'a', name: deployment });
    const id = await submit('a');
    await loseWorker('a');
    await server.restart();
    await pollUntil(() => connection.state === 'up', 'Redis');
    const started = performance.now();
    start(['a'], 1_000);
    await pollUntil(async () => (await loseWorker('a', 60_000)) !== null, 'the second attempt');
    expect(performance.now() - started).to.be.above(900);
    expect((await read('a', id)).status).to.equal('running');
  });
});
