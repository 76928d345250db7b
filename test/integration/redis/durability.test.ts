import { expect } from 'chai';
import type { RedisConnection } from '../../../redis/client.ts';
import { readServerHealth } from '../../../redis/durability.ts';
import { connectTo } from '../../support/redis-client.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';

describe('durability', () => {
  let server: RedisServer;
  let admin: RedisConnection;
  let forgetfulServer: RedisServer;
  let forgetful: RedisConnection;

  before(async () => {
    server = await startRedis({ appendOnly: true });
    admin = await connectTo(server);
    forgetfulServer = await startRedis();
    forgetful = await connectTo(forgetfulServer);
  });
  after(async () => {
    await forgetful?.close();
    await forgetfulServer?.stop();
    await admin?.close();
    await server?.stop();
  });

  it('of the server is judged by what it says of persistence and memory', async () => {
    expect(await readServerHealth(admin.redis)).to.equal(null);
    await admin.redis.config('SET', 'maxmemory', '10');
    expect(await readServerHealth(admin.redis)).to.match(/memory in use/);
    await admin.redis.config('SET', 'maxmemory', '0');
    expect(await readServerHealth(admin.redis)).to.equal(null);
  });

  it('of a server that forgets is refused unless that is allowed', async () => {
    const { redis } = forgetful;
    expect(await readServerHealth(redis)).to.match(/keeps nothing/);
    expect(await readServerHealth(redis, { allowLoss: true })).to.equal(null);
  });
});
