/** Tells in the log when Redis goes and comes back. */
import type { RedisConnection } from '../../redis/client.ts';
import type { Logger } from '../log.ts';

export function logRedisState(connection: RedisConnection, log: Logger): void {
  connection.onStateChange((state, reason) => {
    if (state === 'up') log.info('connected to Redis');
    else log.warn({ reason }, 'Redis is away');
  });
}
