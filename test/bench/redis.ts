/** The Redis of the bench, as the chart configures it, on the load's core. */

import { prepareRedis } from '../../machine/redis-files.ts';
import { ensureValkey } from '../../machine/valkey.ts';
import { connectRedis, type RedisClient, type RedisConnection } from '../../redis/client.ts';
import { makeFolder } from './folders.ts';
import { LOAD_CORE, startPinned, waitForPort } from './pinned-process.ts';
import { PORTS, REDIS_PASSWORDS, REDIS_URL } from './systems.ts';

export async function startBenchRedis(): Promise<void> {
  const args = prepareRedis({ port: PORTS.redis, folder: makeFolder(), passwords: REDIS_PASSWORDS });
  startPinned(LOAD_CORE, { program: ensureValkey(), args }, '/dev/null');
  await waitForPort(PORTS.redis);
}

export async function connectBench(): Promise<RedisConnection> {
  const connection = connectRedis({ url: REDIS_URL, name: 'bench', role: 'operator' });
  await connection.untilUp(10_000);
  return connection;
}

export async function withRedis<T>(measure: (redis: RedisClient) => Promise<T>): Promise<T> {
  const connection = await connectBench();
  try {
    return await measure(connection.redis);
  } finally {
    await connection.close();
  }
}
