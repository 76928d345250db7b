import { expect } from 'chai';
import type { RedisConnection } from '../../../redis/client.ts';
import { loadLibrary } from '../../../redis/library.ts';
import { forgetObjects, registerObjects } from '../../../redis/object-cleanup.ts';
import { removeWorkspace } from '../../../redis/publication.ts';
import { forgetSwept, listSweptWorkspaces } from '../../../redis/swept-workspaces.ts';
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
    await forgetObjects(connection.redis, 'a', objects);
    expect(await forgetSwept(connection.redis, 'a')).to.equal(true);
    expect(await listSweptWorkspaces(connection.redis)).to.deep.equal(['b']);
  });
});
