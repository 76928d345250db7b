import { expect } from 'chai';
import { createLog } from '../../../gateway/telemetry/log.ts';
import { UsageMeter } from '../../../gateway/telemetry/usage.ts';
import type { RedisConnection } from '../../../redis/client.ts';
import { loadLibrary } from '../../../redis/library.ts';
import { addUsage, createLatencies, readUsage, type UsageSums } from '../../../redis/usage/usage.ts';
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

  const observe = (at: number, ms: readonly number[], firstTokenMs: readonly number[] = []) => {
    const latencies = createLatencies();
    for (const each of ms) latencies.whole.observe(each);
    for (const each of firstTokenMs) latencies.firstToken.observe(each);
    return addUsage(tenant.redis, { namespace, deployment: 'chat', at, sums: new Map(), latencies });
  };

  it('reports the same quantiles of the same requests, whatever the steps', async () => {
    // 96 quick ones in one minute, 4 slow ones alone in another.
    await observe(NOON, Array(96).fill(80));
    await observe(NOON + 10 * MINUTE, Array(4).fill(9_000));
    const byMinute = await readTotal(['chat'], NOON + 60 * MINUTE, 60);
    const byHour = await readTotal(['chat'], NOON + 60 * MINUTE, 3_600);
    expect(byMinute.p95Ms).to.be.within(76, 84).and.to.equal(byHour.p95Ms);
    const steps = await read(['chat'], NOON, NOON + 60 * MINUTE, 60);
    expect(Math.max(...steps.map(({ p95Ms }) => p95Ms ?? 0))).to.equal(9_000);
  });

  it('reports quantiles within 5 % of the exact ones of 1,000 requests, whoever counted them', async () => {
    const values = Array.from({ length: 1_000 }, (_, i) => 600_000 ** (((i * 367) % 1_000) / 1_000));
    for (let i = 0; i < 10; i++) await observe(NOON + i * 3_000, values.slice(i * 100, (i + 1) * 100));
    const { p50Ms, p95Ms, p99Ms } = await readTotal(['chat'], NOON + MINUTE, 60);
    const sorted = values.toSorted((a, b) => a - b);
    expect(p50Ms! / sorted[499]!).to.be.within(0.95, 1.05);
    expect(p95Ms! / sorted[949]!).to.be.within(0.95, 1.05);
    expect(p99Ms! / sorted[989]!).to.be.within(0.95, 1.05);
  });

  it('reports the latencies themselves while they are few, of several gateways', async () => {
    for (const ms of [3_712, 18_004, 5_500]) await observe(NOON, [ms]);
    expect(await readTotal(['chat'], NOON + MINUTE, 60)).to.include({ p50Ms: 5_500, p95Ms: 18_004 });
  });

  it('reports times to the first token beside those of whole requests', async () => {
    await observe(NOON, [9_000], [80]);
    const total = await readTotal(['chat'], NOON + MINUTE, 60);
    expect(total).to.include({ p95Ms: 9_000, firstTokenP95Ms: 80 });
  });

  it('reads latencies as earlier versions counted them', async () => {
    await observe(NOON, [900]);
    const [key] = await stack.redis.keys('w:{team}:usage:chat:minute:*');
    await stack.redis.hset(key!, { '0:b1': 98, '0:b6': 1, '0:t0': 4 });
    const total = await readTotal(['chat'], NOON + MINUTE, 60);
    expect(total.p50Ms).to.be.within(70, 80);
    expect(total.firstTokenP95Ms).to.be.within(44, 50);
  });

  it('tells of earlier counts no p99, and of several deployments no latencies', async () => {
    await observe(NOON, [900]);
    expect((await readTotal(['chat'], NOON + MINUTE, 60)).p99Ms).to.equal(900);
    expect((await readTotal(['chat', 'image'], NOON + MINUTE, 60)).p95Ms).to.equal(null);
    const [key] = await stack.redis.keys('w:{team}:usage:chat:minute:*');
    await stack.redis.hset(key!, { '0:b1': 98 });
    expect(await readTotal(['chat'], NOON + MINUTE, 60)).to.include({ p99Ms: null });
  });

  it('replaces what a workspace wrote in place of latencies', async () => {
    await observe(NOON, [900]);
    const [key] = await stack.redis.keys('w:{team}:usage:chat:minute:*');
    for (const text of ['nonsense', `1;${'1=1,'.repeat(5_000)};`]) {
      await stack.redis.hset(key!, '0:w', text);
      await observe(NOON, [70]);
      expect((await readTotal(['chat'], NOON + MINUTE, 60)).p95Ms).to.equal(70);
    }
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
