/** Structured logs. Of what clients send, only the request id is logged: no keys, no prompts. */
import { type Logger, openLog } from '../../kit/log.ts';

export type { Logger } from '../../kit/log.ts';

import type { RedisConnection } from '../../redis/client.ts';

/** `write` receives the lines instead of standard output. */
export const createLog = (
  level: string,
  bindings: Record<string, string> = {},
  write?: (line: string) => void,
): Logger => openLog({ level, base: bindings, ...(write ? { write } : {}) });

const RETRY_TIMEOUT_MS = 5_000;

export function logRedisState(connection: RedisConnection, log: Logger): void {
  connection.onStateChange((state, reason) => {
    if (state === 'up') log.info('connected to Redis');
    else log.warn({ reason }, 'Redis is unavailable');
  });
  connection
    .untilUp(RETRY_TIMEOUT_MS)
    .catch((error: Error) => log.warn({ reason: error.message }, 'Redis is not available yet'));
}
