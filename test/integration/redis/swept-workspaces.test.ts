import { expect } from 'chai';
import { deliveryKeys } from '../../../api/redis-keys.ts';
import type { RedisConnection } from '../../../redis/client.ts';
import { readDeliveryLog } from '../../../redis/deliveries/delivery-log.ts';
import { loadLibrary } from '../../../redis/library.ts';
import { removeWorkspace } from '../../../redis/publication/publication.ts';
import { registerObjects, unregisterObjects } from '../../../redis/requests/object-cleanup.ts';
import { forgetSwept, listSweptWorkspaces } from '../../../redis/workspaces/swept-workspaces.ts';
import { connectTo } from '../../support/redis-client.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { publishMedia } from '../../support/request-fixture.ts';

describe('workspaces that are swept', () => {
  let server: RedisServer;
  let connection: RedisConnection;
  const objects = [{ credential: null, key: 'results/a/req_1/token/0.png' }];
  before(async () => {
    server = await startRedis();
    connection = await connectTo(server);
    await loadLibrary(connection.redis);
  });
  beforeEach(async () => {
    await connection.redis.flushdb();
    for (const namespace of ['a', 'b']) await publishMedia(connection.redis, { namespace, name: 'film' });
  });
  after(async () => {
    await connection?.close();
    await server?.stop();
  });

  it('are all that are published', async () => {
    expect(await listSweptWorkspaces(connection.redis)).to.deep.equal(['a', 'b']);
    expect(await forgetSwept(connection.redis, 'a')).to.equal(false);
  });

  it('are also those that went, until nothing is left of them', async () => {
    await listSweptWorkspaces(connection.redis);
    await registerObjects(connection.redis, 'a', { objects, removeInMs: 0 });
    await removeWorkspace(connection.redis, 'a');
    expect(await listSweptWorkspaces(connection.redis)).to.deep.equal(['a', 'b']);
    expect(await forgetSwept(connection.redis, 'a')).to.equal(false);
    await unregisterObjects(connection.redis, 'a', objects);
    expect(await forgetSwept(connection.redis, 'a')).to.equal(true);
    expect(await listSweptWorkspaces(connection.redis)).to.deep.equal(['b']);
  });

  it('leave no delivery to the next workspace of their name', async () => {
    const keys = deliveryKeys('a');
    await connection.redis.zadd(keys.log, 1, 'dlv_1');
    await connection.redis.hset(keys.delivery('dlv_1'), { event: 'evt_1', state: 'delivered' });
    await listSweptWorkspaces(connection.redis);
    expect(await forgetSwept(connection.redis, 'a')).to.equal(false);
    expect(await readDeliveryLog(connection.redis, 'a')).to.have.length(1);
    await removeWorkspace(connection.redis, 'a');
    expect(await forgetSwept(connection.redis, 'a')).to.equal(true);
    expect(await connection.redis.keys('d:{a}:*')).to.deep.equal([]);
  });
});
