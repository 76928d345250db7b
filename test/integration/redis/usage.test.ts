import { expect } from 'chai';
import { createLog } from '../../../gateway/telemetry/log.ts';
import { UsageMeter } from '../../../gateway/telemetry/usage.ts';
import type { RedisConnection } from '../../../redis/client.ts';
import { loadLibrary } from '../../../redis/library.ts';
import { findBucket, findFirstTokenBucket } from '../../../redis/usage/latency-buckets.ts';
import { addUsage, readUsage, type UsageEntry, type UsageSums } from '../../../redis/usage/usage.ts';
import { ensureWorkspaceUser } from '../../../redis/workspaces/users.ts';
import { connectTo } from '../../support/redis-client.ts';
import { TestStack } from '../../support/test-stack.ts';

const NOON = Date.parse('2026-03-01T12:00:00Z');
const MINUTE = 60_000;
const namespace = 'team';

describe('usage', () => {
  let stack: TestStack;
  let tenant: RedisConnection;

  before(async () => {
    stack = await TestStack.start();
    await ensureWorkspaceUser(stack.redis, { namespace, username: 'ws:team', password: 'secret' });
    tenant = await connectTo(stack.server, { username: 'ws:team', password: 'secret', role: 'sidecar' });
  });
  after(async () => {
    await tenant?.close();
    await stack?.stop();
  });
  afterEach(async () => {
    await stack.redis.del(...(await stack.redis.keys('w:{team}:usage:*')), 'none');
  });

  const add = (deployment: string, at: number, sums: Parameters<typeof Object.entries>[0]) =>
    addUsage(tenant.redis, { namespace, deployment, at, sums: new Map(Object.entries(sums)) as UsageSums });
  const read = (deployments: string[], from: number, to: number, stepSeconds: number) =>
    readUsage(stack.redis, { namespace, deployments, from, to, stepSeconds }).then(({ steps }) => steps);
  const readTotal = async (deployments: string[], to: number, stepSeconds: number) =>
    (await readUsage(stack.redis, { namespace, deployments, from: NOON, to, stepSeconds })).total;

  it('is added up by minute, with nothing where nothing was', async () => {
    await add('chat', NOON + 5_000, { requests: 2, inputTokens: 10 });
    await add('chat', NOON + 50_000, { requests: 1, serverErrors: 1 });
    await add('chat', NOON + 2 * MINUTE, { requests: 4 });
    const steps = await read(['chat'], NOON, NOON + 3 * MINUTE, 60);
    expect(steps.map(({ at, requests }) => [at - NOON, requests])).to.deep.equal([
      [0, 3],
      [MINUTE, 0],
      [2 * MINUTE, 4],
    ]);
    expect(steps[0]).to.include({ inputTokens: 10, serverErrors: 1, p50Ms: null, queuePeak: 0 });
  });

  it('is added up by longer steps, over the ends of hours and days, and over deployments', async () => {
    const midnight = Date.parse('2026-03-02T00:00:00Z');
    await add('chat', midnight - 1, { requests: 1 });
    await add('chat', midnight, { requests: 2 });
    await add('image', midnight + 4 * MINUTE, { requests: 3 });
    const both = ['chat', 'image'];
    const requests = async (from: number, to: number, step: number) =>
      (await read(both, from, to, step)).map((each) => each.requests);
    expect(await requests(midnight - 10 * MINUTE, midnight + 10 * MINUTE, 300)).to.deep.equal([0, 1, 5, 0]);
    expect(await requests(midnight - 60 * MINUTE, midnight + 60 * MINUTE, 3_600)).to.deep.equal([1, 5]);
    expect(await requests(midnight - 240 * MINUTE, midnight + 60 * MINUTE, 14_400)).to.deep.equal([1, 5]);
  });

  it('reports the longest queue of any deployment, in any resolution', async () => {
    for (const queuePeak of [2, 6, 1]) await add('image', NOON, { queuePeak });
    await add('image', NOON + MINUTE, { queuePeak: 3 });
    await add('video', NOON, { queuePeak: 4 });
    const peaks = (await read(['image', 'video'], NOON, NOON + 2 * MINUTE, 60)).map(
      ({ queuePeak }) => queuePeak,
    );
    expect(peaks).to.deep.equal([6, 3]);
    expect((await readTotal(['video', 'chat'], NOON + MINUTE, 60)).queuePeak).to.equal(4);
    expect((await readTotal(['image', 'video'], NOON + 60 * MINUTE, 3_600)).queuePeak).to.equal(6);
  });

  it('reports the same quantiles of the same requests, whatever the steps', async () => {
    // 95 quick ones in one minute, 5 slow ones alone in another.
    const quick = findBucket(80);
    const slow = findBucket(9_000);
    await addUsage(tenant.redis, { namespace, deployment: 'chat', at: NOON, sums: new Map([[quick, 96]]) });
    const at = NOON + 10 * MINUTE;
    await addUsage(tenant.redis, { namespace, deployment: 'chat', at, sums: new Map([[slow, 4]]) });
    const byMinute = await readTotal(['chat'], NOON + 60 * MINUTE, 60);
    const byHour = await readTotal(['chat'], NOON + 60 * MINUTE, 3_600);
    expect(byMinute.p95Ms).to.be.within(50, 100).and.to.equal(byHour.p95Ms);
    const steps = await read(['chat'], NOON, NOON + 60 * MINUTE, 60);
    expect(Math.max(...steps.map(({ p95Ms }) => p95Ms ?? 0))).to.be.above(5_000);
  });

  it('reports times to the first token beside those of whole requests', async () => {
    const sums: UsageSums = new Map<UsageEntry, number>([
      [findBucket(9_000), 1],
      [findFirstTokenBucket(80), 1],
    ]);
    await addUsage(tenant.redis, { namespace, deployment: 'chat', at: NOON, sums });
    const total = await readTotal(['chat'], NOON + MINUTE, 60);
    expect(total.p95Ms).to.be.above(5_000);
    expect(total.firstTokenP95Ms).to.be.within(50, 100);
  });

  it('ends: minutes after a day, hours after a month', async () => {
    await add('chat', NOON, { requests: 1 });
    const [minutes, hours] = await Promise.all(
      ['minute', 'hour'].map(async (name) => {
        const [key] = await stack.redis.keys(`w:{team}:usage:chat:${name}:*`);
        return stack.redis.ttl(key!);
      }),
    );
    expect(minutes! / 3_600).to.be.within(25, 26);
    expect(hours! / 86_400).to.be.within(34, 35);
  });

  it('comes from a meter: requests by outcome, latency, and what waits', async () => {
    const meter = new UsageMeter({ redis: tenant.redis, log: createLog('silent') });
    const usage = meter.of(namespace, 'video', true);
    for (const status of [200, 200, 422, 429, 503]) usage.countRequest(status, 75);
    await stack.redis.zadd('w:{team}:by:video:queued', 1, 'a', 2, 'b');
    await meter.close();
    const now = Date.now();
    const steps = await read(['video'], now - MINUTE, now + MINUTE, 60);
    const [step] = steps.filter(({ requests }) => requests > 0);
    expect(step).to.include({ requests: 5, clientErrors: 1, rateLimited: 1, serverErrors: 1, queuePeak: 2 });
    expect(step!.p50Ms).to.equal(75);
  });

  it('waits in memory while Redis is away', async () => {
    const meter = new UsageMeter({ redis: stack.redis, log: createLog('silent') });
    meter.of(namespace, 'late').countRequest(200, 10);
    await stack.server.kill();
    await meter.flush();
    await stack.server.restart();
    await stack.connection.untilUp(60_000);
    await loadLibrary(stack.redis);
    await meter.close();
    const now = Date.now();
    const steps = await read(['late'], now - MINUTE, now + MINUTE, 60);
    expect(steps.reduce((sum, { requests }) => sum + requests, 0)).to.equal(1);
  });
});
