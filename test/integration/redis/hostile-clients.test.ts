import { connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { workKeys } from '../../../api/redis-keys.ts';
import type { RedisConnection } from '../../../redis/client.ts';
import { ensureWorkspaceUser } from '../../../redis/workspaces/users.ts';
import { pollUntil } from '../../support/poll.ts';
import { connectTo, rejection } from '../../support/redis-client.ts';
import { REDIS_PASSWORDS, type RedisServer, startRedis } from '../../support/redis-server.ts';

const VALUE_BYTES = 1000 * 1000;
const MAX_MEMORY = 400 * 1024 * 1024;
/** A quarter is the clients', each of which has a buffer of 16 KiB at first. */
const FLOODED_MEMORY = 32 * 1024 * 1024;
const FLOODING_CONNECTIONS = 2_000;
const user = { namespace: 'evil', username: 'ws:evil', password: 'known' };
const key = workKeys('evil').credit;

/** With the chart's configuration and its default `maxmemory`. */
describe('a Redis client that does not read its answers', () => {
  let server: RedisServer;
  let admin: RedisConnection;
  let victim: RedisConnection;
  const sockets: Socket[] = [];

  before(async () => {
    server = await startRedis();
    admin = await connectTo(server, { commandTimeoutMs: 20_000 });
    await ensureWorkspaceUser(admin.redis, user);
    await ensureWorkspaceUser(admin.redis, { ...user, namespace: 'victim', username: 'ws:victim' });
    const account = { username: 'ws:victim', password: user.password, role: 'sidecar' } as const;
    victim = await connectTo(server, { ...account, commandTimeoutMs: 20_000 });
    await admin.redis.set(key, 'x'.repeat(VALUE_BYTES));
  });
  after(async () => {
    for (const socket of sockets) socket.destroy();
    await victim?.close();
    await admin?.close();
    await server?.stop();
  });

  function attack(gets: number): Socket {
    const socket = connect(server.port, '127.0.0.1').on('error', () => {});
    sockets.push(socket);
    socket.pause();
    socket.write(`AUTH ${user.username} ${user.password}\r\n${`GET ${key}\r\n`.repeat(gets)}`);
    return socket;
  }
  const readMemory = async (): Promise<number> =>
    Number(/\bused_memory:(\d+)/.exec(await admin.redis.info('memory'))![1]);
  const countAttackers = async (): Promise<number> =>
    String(await admin.redis.client('LIST')).split('user=ws:evil').length - 1;

  for (const [what, connections, gets] of [
    ['many at once', 1, 800],
    ['a few on each of many connections', 24, 20],
  ] as const)
    it(`is cut off before it fills the memory that others write to: ${what}`, async () => {
      for (let index = 0; index < connections; index++) attack(gets);
      let most = 0;
      let refused: unknown;
      const isOver = async () => {
        refused ??= await rejection(victim.redis.set(workKeys('victim').credit, '1'));
        most = Math.max(most, await readMemory());
        return (await readMemory()) < MAX_MEMORY / 2 && (await countAttackers()) < connections;
      };
      await pollUntil(isOver, 'the attackers are cut off', 30_000);
      expect(refused).to.equal(undefined);
      expect(most).to.be.below(MAX_MEMORY);
      expect(await rejection(victim.redis.set(workKeys('victim').credit, '2'))).to.equal(undefined);
    });

  it('takes the connections of Berth’s own programs from nobody, when many without a user fill the clients’ memory', async () => {
    const flooded = await startRedis({ args: ['--maxmemory', String(FLOODED_MEMORY)] });
    const roles = ['operator', 'front', 'console'] as const;
    const own = await Promise.all(
      roles.map((role) =>
        connectTo(flooded, { role, username: `berth-${role}`, password: REDIS_PASSWORDS[role] }),
      ),
    );
    const states: string[] = [];
    for (const connection of own) {
      await connection.redis.subscribe('n:{evil}:events');
      connection.onStateChange((state, reason) => states.push(`${state} ${reason}`));
    }
    const anonymous = Array.from({ length: FLOODING_CONNECTIONS }, () =>
      connect(flooded.port, '127.0.0.1')
        .on('error', () => {})
        .resume(),
    );
    sockets.push(...anonymous);
    try {
      const count = () => anonymous.filter((socket) => socket.closed).length;
      await pollUntil(() => count() > FLOODING_CONNECTIONS / 4, 'Redis closes clients, for their memory');
      expect(states).to.deep.equal([]);
    } finally {
      for (const socket of anonymous) socket.destroy();
      for (const connection of own) await connection.close();
      await flooded.stop();
    }
  });

  it('keeps Berth’s own connections that have nothing to say', async () => {
    const impatient = await startRedis({ args: ['--timeout', '1'] });
    const silent = await connectTo(impatient, { pingMs: 600_000 });
    const own = await connectTo(impatient, { pingMs: 200 });
    const states: string[] = [];
    own.onStateChange((state) => states.push(state));
    try {
      await pollUntil(() => silent.state === 'away', 'the silent one is cut');
      expect(states).to.deep.equal([]);
    } finally {
      await Promise.all([silent.close(), own.close()]);
      await impatient.stop();
    }
  });

  it('does not keep connections that nobody uses, and keeps those that listen', async () => {
    const settings = (await admin.redis.config('GET', 'timeout')) as string[];
    expect(Number(settings[1])).to.be.within(60, 600);
    await admin.redis.config('SET', 'timeout', '1');
    const idle = connect(server.port, '127.0.0.1');
    sockets.push(idle);
    let isClosed = false;
    idle.once('close', () => {
      isClosed = true;
    });
    idle.resume();
    const listener = await connectTo(server, { name: 'listener' });
    try {
      await listener.redis.subscribe('n:{victim}');
      // Clients that send something stay connected.
      await pollUntil(
        async () => (await admin.redis.ping()) === 'PONG' && isClosed,
        'the idle one is cut off',
      );
      expect(listener.state).to.equal('up');
      expect(await admin.redis.publish('n:{victim}', 'x')).to.equal(1);
    } finally {
      await listener.close();
    }
  });
});
