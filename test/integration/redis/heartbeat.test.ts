import { expect } from 'chai';
import { type Heartbeat, workKeys } from '../../../contract/redis-keys.ts';
import { heartbeat, leave, readHeartbeats } from '../../../redis/calls.ts';
import type { RedisConnection } from '../../../redis/client.ts';
import { loadLibrary } from '../../../redis/library.ts';
import { connectTo } from '../../support/redis-client.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';

describe('heartbeats', () => {
  let server: RedisServer;
  let connection: RedisConnection;
  const replica = { namespace: 'one', name: 'chat' };
  const word = (pod: string): Omit<Heartbeat, 'at'> => ({
    v: 1,
    pod,
    address: '10.0.0.1',
    port: 8080,
    inflight: 2,
    limit: null,
    ready: true,
    draining: false,
    version: '0.1.0',
  });
  const beat = (pod: string) => heartbeat(connection.redis, { ...replica, heartbeat: word(pod) });
  const read = () => readHeartbeats(connection.redis, replica.namespace, replica.name);
  const podsOf = (heartbeats: Heartbeat[]) => heartbeats.map(({ pod }) => pod).sort();

  before(async () => {
    server = await startRedis();
    connection = await connectTo(server);
    await loadLibrary(connection.redis);
  });
  beforeEach(() => connection.redis.del(workKeys('one').heartbeats('chat')));
  after(async () => {
    await connection?.close();
    await server?.stop();
  });

  it('answers every replica with the words of all, stamped by the clock of Redis', async () => {
    await beat('a');
    const all = await beat('b');
    expect(podsOf(all)).to.deep.equal(['a', 'b']);
    const { at, ...rest } = all.find(({ pod }) => pod === 'b')!;
    expect(rest).to.deep.equal(word('b'));
    const [seconds] = await connection.redis.time();
    expect(at / 1000).to.be.within(Number(seconds) - 2, Number(seconds) + 1);
    expect(await read()).to.have.deep.members(all);
  });

  it('drops replicas that were silent for 10 s', async () => {
    const [seconds] = await connection.redis.time();
    const age = (ms: number) => JSON.stringify({ ...word('x'), at: Number(seconds) * 1000 - ms });
    await connection.redis.hset(workKeys('one').heartbeats('chat'), { dead: age(12_000), quiet: age(7_000) });
    expect((await read()).length, 'a reader passes over the dead one').to.equal(1);
    expect(await beat('a')).to.have.length(2);
    expect((await connection.redis.hkeys(workKeys('one').heartbeats('chat'))).sort()).to.deep.equal([
      'a',
      'quiet',
    ]);
  });

  it('removes a replica that leaves, and another deployment’s stay', async () => {
    await beat('a');
    await heartbeat(connection.redis, { ...replica, name: 'other', heartbeat: word('a') });
    await leave(connection.redis, { ...replica, pod: 'a' });
    expect(await read()).to.deep.equal([]);
    expect(await readHeartbeats(connection.redis, 'one', 'other')).to.have.length(1);
  });

  it('lets the registry of a deployment that is gone expire', async () => {
    await beat('a');
    expect(await connection.redis.ttl(workKeys('one').heartbeats('chat'))).to.be.within(50, 60);
  });
});
