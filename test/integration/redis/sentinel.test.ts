import type { RedisConnection } from '../../../redis/client.ts';
import { pollUntil } from '../../support/poll.ts';
import { connectTo } from '../../support/redis-client.ts';
import { REDIS_PASSWORDS, type RedisServer, startRedis } from '../../support/redis-server.ts';

describe('a Redis behind Sentinel', () => {
  const started: { stop(): Promise<void> }[] = [];
  let replica: RedisServer;
  let sentinel: RedisServer;

  async function start(options: Parameters<typeof startRedis>[0]): Promise<RedisServer> {
    const server = await startRedis(options);
    started.unshift(server);
    return server;
  }
  async function connect(server: RedisServer, url = server.url): Promise<RedisConnection> {
    const connection = await connectTo(server, { url, role: 'front' });
    started.unshift({ stop: () => connection.close() });
    return connection;
  }

  before(async () => {
    // By default, replication starts after 5 s, and a server with replicas waits for them before it ends.
    const args = [
      ...['--repl-diskless-sync-delay', '0', '--shutdown-timeout', '0'],
      ...['--masteruser', 'berth-operator', '--masterauth', REDIS_PASSWORDS.operator],
    ];
    const master = await start({ args });
    replica = await start({ args: [...args, '--replicaof', '127.0.0.1', String(master.port)] });
    const watched = await connect(master);
    const inStep = async () => (await watched.redis.info('replication')).includes('state=online');
    // Sentinel looks for replicas when it starts and then every 10 s only.
    await pollUntil(inStep, 'the replica is in step');
    sentinel = await start({ watch: master });
  });
  after(async () => {
    for (const server of started) await server.stop();
  });

  it('is found by its master’s name and followed through a failover', async function () {
    this.timeout(300_000);
    const url = `redis+sentinel://berth-operator:${REDIS_PASSWORDS.operator}@127.0.0.1:${sentinel.port}/mymaster`;
    const [connection, promoted, control] = await Promise.all([
      connect(sentinel, url),
      connect(replica),
      connect(sentinel),
    ]);
    await connection.redis.set('k', 'before');
    await pollUntil(async () => (await promoted.redis.get('k')) === 'before', 'the replica follows', 60_000);
    const failover = () =>
      control.redis.call('SENTINEL', 'FAILOVER', 'mymaster').then(
        () => true,
        () => false,
      );
    await pollUntil(failover, 'Sentinel knows the replica', 60_000);
    // A promotion cuts all connections.
    const isMaster = () =>
      promoted.redis.info('replication').then(
        (info) => info.includes('role:master'),
        () => false,
      );
    await pollUntil(isMaster, 'the replica is promoted', 60_000);
    const write = async () => {
      try {
        await connection.redis.set('k', 'after');
        return (await promoted.redis.get('k')) === 'after';
      } catch {
        return false;
      }
    };
    await pollUntil(write, 'writes reach the new master', 60_000);
  });
});
