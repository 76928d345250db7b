import { expect } from 'chai';
import { workspaceRedisUser } from '../../../api/identity.ts';
import { workKeys } from '../../../api/redis-keys.ts';
import { silentLog } from '../../../kube/log.ts';
import { MemoryGuard } from '../../../operator/publish/memory-guard.ts';
import type { RedisConnection, RedisSettings } from '../../../redis/client.ts';
import { loadLibrary } from '../../../redis/library.ts';
import { claimRequest, submitRequest } from '../../../redis/requests/request-calls.ts';
import { readMemoryUse, weighWorkspaces } from '../../../redis/workspaces/server-use.ts';
import { ensureWorkspaceUser } from '../../../redis/workspaces/users.ts';
import { pollUntil } from '../../support/poll.ts';
import { connectTo, rejection } from '../../support/redis-client.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { newRequestId, newToken, publishMedia, submissionOf } from '../../support/request-fixture.ts';

const MIB = 1024 * 1024;
const VALUE = 'x'.repeat(MIB - 100);
const PASSWORD = 'of-a-workspace';

describe('the guard of Redis’ memory', function () {
  this.timeout(240_000);
  let server: RedisServer;
  let operator: RedisConnection;
  let hostile: RedisConnection;
  let other: RedisConnection;
  let guard: MemoryGuard;
  let now: number;
  let changes: string[];

  const ensureUser = (namespace: string) =>
    ensureWorkspaceUser(operator.redis, {
      namespace,
      username: workspaceRedisUser(namespace),
      password: PASSWORD,
      isSuspended: guard.isSuspended(namespace),
    });
  const settingsOf = (namespace: string): Partial<RedisSettings> => ({
    username: workspaceRedisUser(namespace),
    password: PASSWORD,
    role: 'sidecar',
    commandTimeoutMs: 30_000,
  });
  const connectAs = (namespace: string) => connectTo(server, settingsOf(namespace));
  const write = (i: number) => hostile.redis.set(`${workKeys('hostile').prefix}${i}`, VALUE);
  /** Fills until refused, with a look of the guard after every few writes; answers how far memory was filled at most. */
  const fill = async (): Promise<number> => {
    let most = 0;
    for (let i = 0; i < 64; i += 2) {
      const outcome = await rejection(Promise.all([write(i), write(i + 1)]));
      const { used, max } = await readMemoryUse(operator.redis);
      most = Math.max(most, used / max);
      await guard.check();
      if (outcome !== undefined || guard.isSuspended('hostile')) return most;
    }
    throw new Error('nobody stopped it');
  };

  beforeEach(async () => {
    server = await startRedis({ args: ['--maxmemory', '64mb'] });
    operator = await connectTo(server, { commandTimeoutMs: 30_000 });
    await loadLibrary(operator.redis);
    now = 1_000_000;
    changes = [];
    guard = new MemoryGuard({
      redis: operator.redis,
      sharePercent: 50,
      log: silentLog,
      onChange: (namespace) => changes.push(namespace),
      now: () => now,
    });
    for (const namespace of ['hostile', 'other']) await ensureUser(namespace);
    hostile = await connectAs('hostile');
    other = await connectAs('other');
  });
  afterEach(async () => {
    for (const connection of [hostile, other, operator]) await connection?.close();
    await server?.stop();
  });

  it('stops a workspace’s user that fills Redis before others are refused, and makes room again', async () => {
    await operator.redis.set(workKeys('hostile').credit, '12');
    expect(await fill()).to.be.below(0.8);
    await pollUntil(() => /WRONGPASS/.test(hostile.reason ?? ''), 'it is refused');
    expect(await other.redis.set(`${workKeys('other').prefix}mine`, VALUE)).to.equal('OK');
    await guard.check();
    const { used, max } = await readMemoryUse(operator.redis);
    expect(used / max).to.be.below(0.4);
    expect((await weighWorkspaces(operator.redis)).get('other')).to.be.greaterThan(MIB / 2);
    expect(await operator.redis.get(workKeys('hostile').credit), 'what it spent').to.equal('12');
  });

  it('lets the user back after a minute, and keeps it out for twice as long the next time', async () => {
    await fill();
    const isOut = async () => {
      await guard.check();
      await ensureUser('hostile');
      return guard.isSuspended('hostile');
    };
    now += 59_000;
    expect(await isOut()).to.equal(true);
    now += 1_000;
    expect(await isOut()).to.equal(false);
    await hostile.untilUp(60_000);
    await fill();
    now += 119_000;
    expect(await isOut()).to.equal(true);
    now += 1_000;
    expect(await isOut()).to.equal(false);
  });

  it('removes what others wrote before accepted requests, which can all be claimed afterwards', async () => {
    const { redis } = operator;
    const limits = { maxQueued: 10_000 } as const;
    await publishMedia(redis, { namespace: 'hostile', name: 'film', limits });
    const submit = () => submitRequest(redis, submissionOf({ namespace: 'hostile', deployment: 'film' }));
    for (let i = 0; i < 20; i++) await Promise.all(Array.from({ length: 100 }, submit));
    const keys = workKeys('hostile');
    const id = newRequestId();
    // Under names that functions know, too.
    await hostile.redis.zadd(keys.cleanup, 1, VALUE, 2, `${VALUE}2`);
    await hostile.redis.zadd(keys.index('film', 'queued'), 1, VALUE);
    await hostile.redis.set(keys.credit, VALUE);
    await hostile.redis.set(keys.params(id), 'x'.repeat(60_000));
    await hostile.redis.hset(keys.request(id), 'deployment', 'film', 'note', 'x'.repeat(50_000));
    await hostile.redis.set(Buffer.concat([Buffer.from(keys.prefix), Buffer.from([0xff])]), VALUE);
    await fill();
    expect(guard.isSuspended('hostile')).to.equal(true);
    expect((await weighWorkspaces(redis, { exactly: true })).get('hostile')).to.be.below(26 * MIB);
    const claim = () =>
      claimRequest(redis, {
        namespace: 'hostile',
        deployment: 'film',
        token: newToken(),
        leaseMs: 60_000,
        pod: 'p',
      });
    let claimed = 0;
    for (let i = 0; i < 20; i++)
      for (const job of await Promise.all(Array.from({ length: 100 }, claim)))
        if (job?.params === '{"prompt":"a cat"}') claimed++;
    expect(claimed).to.equal(2_000);
  });

  it('suspends nobody while Redis has room enough', async () => {
    await operator.redis.config('SET', 'maxmemory', '128mb');
    const lenient = new MemoryGuard({
      redis: operator.redis,
      sharePercent: 20,
      log: silentLog,
      onChange: () => {},
    });
    for (let i = 0; i < 40; i++) await write(i);
    await lenient.check();
    expect(lenient.isSuspended('hostile')).to.equal(false);
    expect(lenient.refusalOf('hostile')).to.be.a('string');
    expect(await operator.redis.exists(`${workKeys('hostile').prefix}0`)).to.equal(1);
  });

  it('finds few long fields among very many short ones', async () => {
    const key = `${workKeys('hostile').prefix}hash`;
    for (let i = 0; i < 100_000; i += 5_000)
      await hostile.redis.hset(key, ...Array.from({ length: 10_000 }, (_, j) => String(2 * i + j)));
    for (let i = 0; i < 64 && !guard.isSuspended('hostile'); i++) {
      expect(await rejection(hostile.redis.hset(key, `long:${i}`, VALUE)), `field ${i}`).to.equal(undefined);
      await guard.check();
    }
    expect(guard.isSuspended('hostile')).to.equal(true);
    expect(await operator.redis.exists(key)).to.equal(0);
  });

  it('refuses the queue of a workspace, and no other’s, before its share is used up', async () => {
    for (let i = 0; i < 28; i++) await write(i);
    await guard.check();
    expect(guard.refusalOf('hostile')).to.match(/nearly all of its \d+ % share/);
    expect(guard.isSuspended('hostile')).to.equal(false);
    expect(guard.refusalOf('other')).to.equal(null);
    await hostile.redis.unlink(...Array.from({ length: 28 }, (_, i) => `${workKeys('hostile').prefix}${i}`));
    await guard.check();
    expect(guard.refusalOf('hostile')).to.equal(null);
    expect(changes).to.deep.equal(['hostile', 'hostile']);
  });

  it('finds a workspace that fills Redis with very many small keys', async () => {
    await operator.redis.config('SET', 'maxmemory', '16mb');
    const key = (i: number) => `${workKeys('hostile').prefix}small:${i}`;
    for (let i = 0; i < 60_000 && !guard.isSuspended('hostile'); i += 5_000) {
      const batch = Array.from({ length: 5_000 }, (_, j) => hostile.redis.set(key(i + j), 'x'.repeat(400)));
      await rejection(Promise.all(batch));
      await guard.check();
    }
    expect(guard.isSuspended('hostile')).to.equal(true);
    expect((await weighWorkspaces(operator.redis)).get('hostile')).to.be.below(5 * MIB);
  });
});
