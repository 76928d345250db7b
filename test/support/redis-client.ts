/** Connections to a test's Redis. */

import {
  connectRedis,
  type RedisClient,
  type RedisConnection,
  type RedisSettings,
} from '../../redis/client.ts';
import type { RedisServer } from './redis-server.ts';

/** For a busy machine: only what hangs takes as long. */
const WAIT_MS = 60_000;
export const COMMAND_TIMEOUT_MS = 20_000;

/** Connects, by default as the operator, and waits until connected. */
export async function connectTo(
  server: Pick<RedisServer, 'url'>,
  settings: Partial<RedisSettings> = {},
  timeoutMs = WAIT_MS,
): Promise<RedisConnection> {
  const connection = connectRedis({
    url: server.url,
    name: 'test',
    role: 'operator',
    commandTimeoutMs: COMMAND_TIMEOUT_MS,
    ...settings,
  });
  try {
    await connection.untilUp(timeoutMs);
  } catch (error) {
    await connection.close();
    throw error;
  }
  return connection;
}

/** What a promise rejects with; undefined when it resolves. */
export const rejection = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

/** Sets `maxmemory` to what is in use. */
export async function fillMemory(redis: RedisClient): Promise<void> {
  const used = /^used_memory:(\d+)/m.exec(await redis.info('memory'))![1]!;
  await redis.config('SET', 'maxmemory', String(Number(used) - 100_000));
}
