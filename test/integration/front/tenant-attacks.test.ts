import { expect } from 'chai';
import { workKeys } from '../../../api/redis-keys.ts';
import type { RedisConnection } from '../../../redis/client.ts';
import { loadLibrary } from '../../../redis/library.ts';
import { publishHost } from '../../../redis/publication/publication.ts';
import { submitRequest } from '../../../redis/requests/request-calls.ts';
import { ensureWorkspaceUser } from '../../../redis/workspaces/users.ts';
import { readChartLimits } from '../../support/chart-limits.ts';
import { findFreePort } from '../../support/child-program.ts';
import { type FrontProcess, startFrontProcess } from '../../support/front-process.ts';
import { fetchByHost } from '../../support/host-fetch.ts';
import { pollUntil } from '../../support/poll.ts';
import { watchLoad } from '../../support/process-load.ts';
import { connectTo } from '../../support/redis-client.ts';
import { REDIS_PASSWORDS, type RedisServer, startRedis } from '../../support/redis-server.ts';
import { publishMedia, submissionOf } from '../../support/request-fixture.ts';

const MIB = 1024 * 1024;
const deployment = 'film';
const HOST = 'film--good.models.example.com';

/** The front as the chart starts it, and a workspace whose Redis user writes what it likes. */
describe('a front with a malicious workspace', function () {
  this.timeout(300_000);
  let server: RedisServer;
  let admin: RedisConnection;
  let tenant: RedisConnection;
  let front: FrontProcess;
  const keys = workKeys('evil');
  const { memoryMiB, nodeOptions } = readChartLimits('front');

  before(async () => {
    server = await startRedis({ args: ['--maxmemory', '400mb'] });
    admin = await connectTo(server, { commandTimeoutMs: 60_000 });
    await loadLibrary(admin.redis);
    for (const namespace of ['evil', 'good'])
      await publishMedia(admin.redis, { namespace, name: deployment });
    await publishHost(admin.redis, HOST, { namespace: 'good', name: deployment });
    const user = { namespace: 'evil', username: 'ws:evil', password: 'secret' };
    await ensureWorkspaceUser(admin.redis, user);
    tenant = await connectTo(server, { ...user, commandTimeoutMs: 60_000, role: 'sidecar' });
    front = await startFrontProcess({
      redisURL: `redis://berth-front:${REDIS_PASSWORDS.front}@127.0.0.1:${server.port}`,
      replicaPort: await findFreePort(),
      env: { NODE_OPTIONS: nodeOptions },
    });
    await pollUntil(async () => (await front.admin('/readyz')).ok, 'the front to be ready');
  });
  after(async () => {
    await front?.stop('SIGKILL');
    await tenant?.close();
    await admin?.close();
    await server?.stop();
  });

  const countSamples = async () => {
    const period = Math.floor(Date.now() / 86_400_000);
    const counters = await admin.redis.hgetall(workKeys('good').usage(deployment, 'hour', period));
    return Object.entries(counters)
      .filter(([field]) => field.endsWith(':n'))
      .reduce((sum, [, count]) => sum + Number(count), 0);
  };

  async function poison(): Promise<void> {
    const { redis } = tenant;
    for (let at = 0; at < 300_000; at += 10_000) {
      const names = Array.from({ length: 10_000 }, (_, i) => `d${at + i}`.padEnd(100, 'x'));
      await redis.zadd(keys.deployments, ...names.flatMap((name) => [0, name]));
      await redis.zadd(keys.again(deployment), ...names.flatMap((name) => [0, name]));
    }
    const huge = 'x'.repeat(MIB - 1);
    for (let i = 0; i < 30; i++)
      for (const key of [keys.leases, keys.ended, keys.outbox, keys.cleanup, keys.deployments])
        await redis.zadd(key, 0, `${i}${huge.slice(10)}`);
    const row = `https://example.com/\n${'[{},'.repeat(17_000)}`;
    for (let at = 0; at < 1_000; at += 100)
      await Promise.all(
        Array.from({ length: 100 }, async (_, i) => {
          await redis.set(keys.event(`evt_${at + i}`), row);
          await redis.zadd(keys.outbox, 1, `evt_${at + i}`);
        }),
      );
    await redis.set(keys.credit, huge);
    for (let i = 0; i < 50; i++) {
      const id = `req_${String(i).padStart(32, '0')}`;
      await redis.hset(keys.request(id), 'status', 'running', 'deployment', huge);
      await redis.zadd(keys.leases, 1, id);
      await redis.zadd(keys.ended, 1, id);
    }
  }

  it('serves and maintains all others, within the memory that the chart gives it', async () => {
    await poison();
    const samples = await countSamples();
    const submission = submissionOf({ namespace: 'good', deployment });
    await submitRequest(admin.redis, submission);
    const load = watchLoad(front.program, async () => {
      const answer = await fetchByHost(`${front.origin}/v1/videos/unknown`, HOST);
      expect(answer.status).to.equal(401);
    });
    await pollUntil(async () => (await countSamples()) >= samples + 2, 'the queue to be sampled twice');
    await load.stop();
    expect(front.program.ended).to.equal(null);
    expect(load.peakMiB(), 'MiB at most').to.be.below(Math.min(memoryMiB, 500));
    expect(load.slowestMs, 'milliseconds of the slowest answer').to.be.below(5_000);
    expect(await admin.redis.zcard(keys.outbox)).to.be.below(1_000);
  });
});
