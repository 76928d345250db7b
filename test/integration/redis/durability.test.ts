import { expect } from 'chai';
import { globalKeys } from '../../../api/redis-keys.ts';
import type { RedisConnection } from '../../../redis/client.ts';
import { keepsFunctionWrites, readServerHealth } from '../../../redis/durability.ts';
import { loadLibrary } from '../../../redis/library.ts';
import { submitRequest } from '../../../redis/requests/request-calls.ts';
import { readRequest } from '../../../redis/requests/request-record.ts';
import { connectTo } from '../../support/redis-client.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { publishMedia, submissionOf } from '../../support/request-fixture.ts';

const readRefusal = async (...args: Parameters<typeof readServerHealth>) =>
  (await readServerHealth(...args)).refusal;

describe('durability', () => {
  let server: RedisServer;
  let admin: RedisConnection;
  let forgetfulServer: RedisServer;
  let forgetful: RedisConnection;

  before(async () => {
    server = await startRedis({ isStrict: true });
    admin = await connectTo(server);
    forgetfulServer = await startRedis({ args: ['--appendonly', 'no'] });
    forgetful = await connectTo(forgetfulServer);
  });
  after(async () => {
    await forgetful?.close();
    await forgetfulServer?.stop();
    await admin?.close();
    await server?.stop();
  });

  it('of the server is judged by what it says of persistence and memory', async () => {
    expect(await readRefusal(admin.redis)).to.equal(null);
    await admin.redis.config('SET', 'maxmemory', '10');
    expect(await readRefusal(admin.redis)).to.match(/of its memory or more/);
    await admin.redis.config('SET', 'maxmemory', '0');
    expect(await readRefusal(admin.redis)).to.equal(null);
  });

  it('of a server that forgets is refused unless that is allowed', async () => {
    const { redis } = forgetful;
    expect(await readRefusal(redis)).to.match(/does not persist/);
    expect(await readRefusal(redis, { allowLoss: true })).to.equal(null);
  });

  describe('of a server that drops what functions wrote when it loads its file', () => {
    let amnesiac: RedisServer;
    let operator: RedisConnection;
    const check = () => readRefusal(operator.redis);
    async function restart(): Promise<void> {
      await amnesiac.restart();
      await operator.untilUp(60_000);
    }

    before(async () => {
      amnesiac = await startRedis({ isStrict: true });
      operator = await connectTo(amnesiac);
      await loadLibrary(operator.redis);
    });
    after(async () => {
      await operator?.close();
      await amnesiac?.stop();
    });

    it('is refused by its default user, before anything is lost', async () => {
      expect(await check()).to.equal(null);
      await restart();
      expect(await check()).to.equal(null);
      await operator.redis.acl('SETUSER', 'default', 'resetkeys', '-@all');
      expect(await check()).to.match(/default user lacks permissions/);
      expect(await readRefusal(operator.redis, { allowLoss: true })).to.equal(null);
    });

    it('is judged by what its default user may do, in whatever words', async () => {
      const evaluate = async (...rules: string[]) => {
        await operator.redis.acl('SETUSER', 'default', 'reset', ...rules);
        return check();
      };
      for (const rules of [
        ['allkeys', 'allcommands'],
        ['~*', '+@all', '-@dangerous'],
        ['~*', '+@all', '-debug', '-config|set'],
        ['~*', '-@all', '+@write', '+@connection', '+@transaction', '+@keyspace'],
        ['~[wcdg]:*', '~console:*', '+@all'],
      ])
        expect(await evaluate(...rules), rules.join(' ')).to.equal(null);
      for (const rules of [
        ['~*', '+@all', '-zadd'],
        ['~*', '+@all', '-@transaction'],
        ['~*', '-@all', '+@read'],
        ['~w:*', '+@all'],
        ['%R~*', '+@all'],
      ])
        expect(await evaluate(...rules), rules.join(' ')).to.match(/default user lacks permissions/);
    });

    it('is found out after a restart whatever its settings say, and until a restart that keeps all', async () => {
      // What is replayed since the last rewrite is what is lost.
      await operator.redis.acl('SETUSER', 'default', 'reset', 'off', '~*', '+@all');
      expect(await check()).to.equal(null);
      await operator.redis.hset(globalKeys.canary, 'first', '0');
      expect(await check()).to.match(/lost what functions had written when it last restarted/);
      expect(await check()).to.match(/lost what functions had written when it last restarted/);
      await restart();
      expect(await check()).to.equal(null);
      expect(await check()).to.equal(null);
    });

    // Redis drops them, Valkey 9.1 does not.
    it('is found out exactly where it has dropped a request', async () => {
      const plain = await startRedis({ isStrict: true, defaultUser: 'user default off' });
      const { redis, ...connection } = await connectTo(plain);
      try {
        await loadLibrary(redis);
        const place = { namespace: 'one', deployment: 'film' };
        await publishMedia(redis, { namespace: 'one', name: 'film' });
        const submission = submissionOf(place);
        expect(await submitRequest(redis, submission)).to.include({ verdict: 'accepted' });
        expect(await keepsFunctionWrites(redis, 'first')).to.equal(true);
        await plain.restart();
        await connection.untilUp(60_000);
        const isKept = (await readRequest(redis, 'one', submission.id)) !== null;
        expect(await keepsFunctionWrites(redis, 'second')).to.equal(isKept);
        expect(await keepsFunctionWrites(redis, 'second')).to.equal(isKept);
        expect(await keepsFunctionWrites(redis, 'third')).to.equal(true);
      } finally {
        await connection.close();
        await plain.stop();
      }
    });
  });
});
