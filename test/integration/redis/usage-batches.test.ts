import { expect } from 'chai';
import { workKeys } from '../../../api/redis-keys.ts';
import { createLog } from '../../../gateway/telemetry/log.ts';
import { createMetrics } from '../../../gateway/telemetry/metrics.ts';
import { UsageMeter } from '../../../gateway/telemetry/usage.ts';
import { UsageWriter } from '../../../gateway/telemetry/usage-writer.ts';
import type { RedisClient, RedisConnection } from '../../../redis/client.ts';
import { FUNCTIONS } from '../../../redis/function-table.ts';
import { type KeyUsage, type KeyUsageRow, readKeyUsageRows } from '../../../redis/usage/key-usage.ts';
import { readUsage, type UsageReport } from '../../../redis/usage/usage.ts';
import { addBatch, type HashCounts } from '../../../redis/usage/usage-batch.ts';
import { ensureWorkspaceUser } from '../../../redis/workspaces/users.ts';
import { connectTo, fillMemory, rejection } from '../../support/redis-client.ts';
import { ReplyLoss } from '../../support/reply-loss.ts';
import { TestStack } from '../../support/test-stack.ts';

const MINUTE = 60_000;
const HOUR = 3_600_000;
const namespace = 'team';
const user = { namespace, username: 'ws:team', password: 'secret' };
const log = createLog('silent');
const USED: KeyUsage = { requests: 1, inputTokens: 10, outputTokens: 2, micros: 34 };

describe('usage that a gateway writes', () => {
  let stack: TestStack;
  let relay: ReplyLoss;
  let tenant: RedisConnection;
  let metrics: ReturnType<typeof createMetrics>;
  let deployment: string;
  let count = 0;

  before(async () => {
    stack = await TestStack.start();
    relay = await ReplyLoss.start(stack.server);
    await ensureWorkspaceUser(stack.redis, user);
    tenant = await connectTo(relay, { ...user, role: 'sidecar' });
  });
  after(async () => {
    await tenant?.close();
    await relay?.stop();
    await stack?.stop();
  });
  beforeEach(() => {
    deployment = `chat-${++count}`;
    metrics = createMetrics();
  });

  const openMeter = (redis: RedisClient = tenant.redis) => new UsageMeter({ redis, log, metrics });
  const readTotal = async (): Promise<UsageReport['total']> => {
    const now = Date.now();
    const place = { namespace, deployments: [deployment], from: now - 10 * MINUTE, to: now + MINUTE };
    const [minutes, hours] = await Promise.all([
      readUsage(stack.redis, { ...place, stepSeconds: 60 }),
      readUsage(stack.redis, { ...place, stepSeconds: 3_600 }),
    ]);
    // Whatever becomes of a batch, becomes of it in both resolutions.
    if (new Date(now).getUTCMinutes() >= 10) expect(hours.total).to.deep.equal(minutes.total);
    return minutes.total;
  };
  const readKeys = async (): Promise<KeyUsageRow[]> => {
    const now = Date.now();
    const range = { namespace, deployments: [deployment], from: now - HOUR, to: now };
    const rows: KeyUsageRow[] = [];
    for await (const some of readKeyUsageRows(stack.redis, range)) rows.push(...some);
    return rows;
  };
  const readLost = async (reason: string) =>
    Number(
      new RegExp(`usage_lost_total\\{reason="${reason}"\\} (\\d+)`).exec(await metrics.render())?.[1] ?? 0,
    );

  it('is the same after every interval in which nothing happened', async () => {
    const meter = openMeter();
    const usage = meter.of(namespace, deployment);
    usage.countRequest(200, 75);
    usage.add('inputTokens', 10.5);
    usage.add('outputTokens', 2);
    usage.addOfKey('a'.repeat(64), { ...USED, inputTokens: 10.5 });
    for (let interval = 0; interval < 4; interval++) {
      await meter.flush();
      expect(await readTotal()).to.include({ requests: 1, outputTokens: 2, inputTokens: 0 });
      expect((await readKeys())[0]).to.include({ ...USED, inputTokens: 0 });
    }
    await meter.close();
    expect(await readLost('invalid')).to.equal(1);
  });

  for (const amount of [Number.NaN, -1, 1e25, Number.POSITIVE_INFINITY])
    it(`lacks only what is no count, such as ${amount}`, async () => {
      const meter = openMeter();
      const usage = meter.of(namespace, deployment);
      usage.add('characters', amount);
      usage.countRequest(503, 10);
      await meter.close();
      expect(await readTotal()).to.include({ requests: 1, serverErrors: 1 });
    });

  it('counts once when the reply is lost with the connection', async () => {
    const meter = openMeter();
    const usage = meter.of(namespace, deployment);
    for (let interval = 1; interval <= 3; interval++) {
      usage.countRequest(200, 75);
      usage.addOfKey('a'.repeat(64), USED);
      const lost = relay.lost;
      relay.loseNext(FUNCTIONS.addUsage);
      await meter.flush();
      expect(relay.lost).to.equal(lost + 1);
      await tenant.untilUp(60_000);
    }
    await meter.close();
    expect(await readTotal()).to.include({ requests: 3 });
    expect((await readKeys())[0]).to.include({ requests: 3, inputTokens: 30, outputTokens: 6, micros: 102 });
  });

  it('is not counted again by a batch that Redis gets late, after the next', async () => {
    const hashes = (amount: number): HashCounts[] => [
      { key: workKeys(namespace).usage(deployment, 'hour', 1), keepSeconds: 60, counts: [['1:r', amount]] },
    ];
    const send = (number: number, amount: number) =>
      addBatch(tenant.redis, {
        namespace,
        deployment,
        id: { writer: 'w', number },
        hashes: hashes(amount),
      });
    expect(await send(1, 5)).to.equal(true);
    expect(await send(2, 7)).to.equal(true);
    expect(await send(1, 5)).to.equal(false);
    expect(await stack.redis.hgetall(hashes(0)[0]!.key)).to.deep.equal({ '1:r': '12' });
  });

  for (const amount of ['10.5', '-1', '1e25', '9007199254740992', 'x', ''])
    it(`is refused whole where Redis is sent "${amount}" for a count`, async () => {
      const keys = workKeys(namespace);
      const [hour, minute] = [keys.usage(deployment, 'hour', 1), keys.usage(deployment, 'minute', 1)];
      const call = tenant.redis.fcall(
        FUNCTIONS.addUsage,
        3,
        ...[keys.counted(deployment, 'w'), minute, hour, 1, 60, 1, '1:r', 1, 60, 2, '1:r', 1, '1:i', amount],
      );
      expect(String(await rejection(call))).to.include('A count is not a whole number: 1:i');
      expect(await stack.redis.exists(keys.counted(deployment, 'w'), minute, hour)).to.equal(0);
    });

  it('is dropped when Redis refuses it, once, and later usage is counted', async () => {
    let isRefusing = true;
    const redis: RedisClient = Object.create(tenant.redis, {
      fcall: {
        value: (name: string, ...args: (string | number)[]) =>
          tenant.redis.fcall(name, ...((isRefusing ? args.with(-1, 'x') : args) as [number, ...string[]])),
      },
    });
    const meter = openMeter(redis);
    const usage = meter.of(namespace, deployment);
    // Without latencies, which are a batch of their own.
    usage.countRequest(400, 75);
    await meter.flush();
    isRefusing = false;
    usage.countRequest(400, 75);
    await meter.flush();
    await meter.close();
    expect(await readTotal()).to.include({ requests: 1 });
    expect(await readLost('refused')).to.equal(1);
  });

  it('replaces what a tenant wrote in the place of counts', async () => {
    const { usage, keyUsage } = workKeys(namespace);
    const now = Date.now();
    await tenant.redis.set(usage(deployment, 'minute', Math.floor(now / HOUR)), 'mine');
    await tenant.redis.set(usage(deployment, 'hour', Math.floor(now / (24 * HOUR))), 'mine');
    const day = keyUsage(deployment, Math.floor(now / (24 * HOUR)));
    await tenant.redis.hset(day, `${'a'.repeat(24)}:r`, 'many', `${'a'.repeat(24)}:c`, '9'.repeat(1_000));
    const meter = openMeter();
    meter.of(namespace, deployment).countRequest(200, 75);
    meter.of(namespace, deployment).addOfKey('a'.repeat(64), USED);
    await meter.close();
    expect(await readTotal()).to.include({ requests: 1 });
    expect((await readKeys())[0]).to.include(USED);
  });

  it('never exceeds what is exact', async () => {
    const meter = openMeter();
    for (let interval = 0; interval < 2; interval++) {
      meter.of(namespace, deployment).add('inputTokens', Number.MAX_SAFE_INTEGER);
      meter.of(namespace, deployment).add('inputTokens', Number.MAX_SAFE_INTEGER);
      await meter.flush();
    }
    await meter.close();
    expect((await readTotal()).inputTokens).to.equal(Number.MAX_SAFE_INTEGER);
  });

  it('may be that of more keys than one call may write', async () => {
    const meter = openMeter();
    const hashOf = (index: number) => index.toString(16).padStart(64, '0').split('').reverse().join('');
    for (let index = 1; index <= 250; index++) meter.of(namespace, deployment).addOfKey(hashOf(index), USED);
    meter.of(namespace, deployment).countRequest(200, 75);
    relay.loseNext(FUNCTIONS.addUsage);
    await meter.flush();
    await tenant.untilUp(60_000);
    await meter.close();
    const rows = await readKeys();
    expect(rows).to.have.length(250);
    for (const row of rows) expect(row).to.include(USED);
    expect(await readTotal()).to.include({ requests: 1 });
  });

  it('waits while the memory of Redis is full', async () => {
    const meter = openMeter();
    meter.of(namespace, deployment).countRequest(200, 75);
    await fillMemory(stack.redis);
    await meter.flush();
    expect(await readTotal()).to.include({ requests: 0 });
    await stack.redis.config('SET', 'maxmemory', '0');
    await meter.close();
    expect(await readTotal()).to.include({ requests: 1 });
  });

  it('is lost before Redis forgets which batch it had last', async () => {
    let now = Date.now();
    const writer = new UsageWriter({
      redis: tenant.redis,
      namespace,
      deployment,
      log,
      metrics,
      now: () => now,
    });
    const key = workKeys(namespace).usage(deployment, 'hour', 1);
    const write = (counts: HashCounts['counts']) =>
      writer.write(async () => [[{ key, keepSeconds: 60, counts }]]);
    relay.loseNext(FUNCTIONS.addUsage);
    await write([['1:r', 1]]);
    await tenant.untilUp(60_000);
    now += 22 * HOUR;
    await fillMemory(stack.redis);
    await write([['1:r', 1]]);
    expect(await readLost('late')).to.equal(0);
    now += 2 * HOUR;
    await write([]);
    expect(await readLost('late')).to.equal(1);
    await stack.redis.config('SET', 'maxmemory', '0');
    await write([['1:r', 1]]);
    expect(await stack.redis.hget(key, '1:r')).to.equal('2');
    const marker = (await stack.redis.keys(workKeys(namespace).counted(deployment, '*')))[0]!;
    expect(await stack.redis.ttl(marker)).to.be.within(86_000, 86_400);
  });
});
