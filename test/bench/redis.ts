/** The Redis of the bench, on the load's core. */
import { connectRedis, type RedisConnection } from '../../redis/client.ts';
import { makeFolder } from './folders.ts';
import { LOAD_CORE, startPinned, waitForPort } from './pinned-process.ts';
import { PORTS, REDIS_URL } from './systems.ts';

export async function startBenchRedis(): Promise<void> {
  const folder = makeFolder();
  const args = ['--port', String(PORTS.redis), '--bind', '127.0.0.1', '--save', '', '--dir', folder];
  startPinned(LOAD_CORE, { program: 'redis-server', args }, '/dev/null');
  await waitForPort(PORTS.redis);
}

export async function connectBench(): Promise<RedisConnection> {
  const connection = connectRedis({ url: REDIS_URL, name: 'bench', role: 'operator' });
  await connection.untilUp(10_000);
  return connection;
}
