import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { silentLog } from '../../../kube/log.ts';
import { ConnectionGuard } from '../../../operator/publish/connection-guard.ts';
import type { RedisConnection } from '../../../redis/client.ts';
import { readConnectionUse } from '../../../redis/workspaces/server-use.ts';
import { ensureWorkspaceUser } from '../../../redis/workspaces/users.ts';
import { pollUntil } from '../../support/poll.ts';
import { connectTo, rejection } from '../../support/redis-client.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';

const MAX_CLIENTS = 60;

describe('connections to Redis that never log in', function () {
  this.timeout(120_000);
  let server: RedisServer;
  let operator: RedisConnection;
  let tenant: RedisConnection;
  let guard: ConnectionGuard;
  let sockets: Socket[];

  beforeEach(async () => {
    server = await startRedis({ args: ['--maxclients', String(MAX_CLIENTS)] });
    operator = await connectTo(server);
    const user = { namespace: 'one', username: 'ws:one', password: 'of-a-workspace' };
    await ensureWorkspaceUser(operator.redis, user);
    tenant = await connectTo(server, { ...user, role: 'sidecar' });
    guard = new ConnectionGuard({ redis: operator.redis, log: silentLog, intervalMs: 50 });
    sockets = [];
  });
  afterEach(async () => {
    guard.stop();
    for (const socket of sockets) socket.destroy();
    await tenant?.close();
    await operator?.close();
    await server?.stop();
  });

  /** Opens connections until so many are in use. */
  async function occupy(used: number): Promise<void> {
    for (let i = (await readConnectionUse(operator.redis)).used; i < used; i++) {
      const socket = connect(server.port, '127.0.0.1')
        .on('error', () => {})
        .resume();
      sockets.push(socket);
      await once(socket, 'connect');
    }
    await pollUntil(async () => (await readConnectionUse(operator.redis)).used === used, 'they are counted');
  }
  const connectAnew = () => connectTo(server, {}, 2_000).then((connection) => connection.close());

  it('are closed when they have taken all, and nobody else’s are', async () => {
    await occupy(MAX_CLIENTS);
    expect(await rejection(connectAnew()), 'nobody else gets one').to.be.instanceOf(Error);
    const listTenants = async () =>
      String(await operator.redis.call('CLIENT', 'LIST')).match(/^id=\d+(?=.* user=ws:one )/gm);
    const before = await listTenants();
    expect(before).to.have.length(1);
    guard.start();
    await pollUntil(async () => (await rejection(connectAnew())) === undefined, 'a connection is to be had');
    await pollUntil(() => sockets.every(({ closed }) => closed), 'all of them are closed');
    expect(await listTenants()).to.deep.equal(before);
  });

  it('are left alone while there is room', async () => {
    await occupy(MAX_CLIENTS / 2 - 2);
    guard.start();
    await pollUntil(async () => {
      const clients = String(await operator.redis.call('CLIENT', 'LIST'));
      return /user=default.* age=[6-9] |age=[6-9] .*user=default/.test(clients);
    }, 'one has been there for longer than any handshake');
    expect(sockets.every(({ closed }) => !closed)).to.equal(true);
  });

  it('are left alone where the default user may log in: they may be anybody’s', async () => {
    await operator.redis.acl('SETUSER', 'default', 'on', '>secret');
    await occupy(MAX_CLIENTS);
    await pollUntil(
      async () => / age=[2-9] .*user=default/.test(String(await operator.redis.call('CLIENT', 'LIST'))),
      'they are old enough',
    );
    await guard.check();
    expect(sockets.every(({ closed }) => !closed)).to.equal(true);
  });
});
