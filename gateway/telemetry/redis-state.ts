/** Tells in the log when Redis goes and comes back, and when it is not there in the first place. */
import type { RedisConnection } from '../../redis/client.ts';
import type { Logger } from './log.ts';

const PATIENCE_MS = 5_000;

export function logRedisState(connection: RedisConnection, log: Logger): void {
  connection.onStateChange((state, reason) => {
    if (state === 'up') log.info('connected to Redis');
    else log.warn({ reason }, 'Redis is away');
  });
  connection
    .untilUp(PATIENCE_MS)
    .catch((error: Error) => log.warn({ reason: error.message }, 'Redis is not there yet'));
}
