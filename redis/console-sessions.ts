/** The console's sessions: sealed, so that who reads Redis learns nothing. */
import { consoleKeys } from '../contract/redis-keys.ts';
import type { RedisClient } from './client.ts';

/** `sha256`: of the session's id, which the browser alone has. */
export async function saveSession(
  redis: RedisClient,
  { sha256, sealed, ttlMs }: { sha256: string; sealed: string; ttlMs: number },
): Promise<void> {
  await redis.set(consoleKeys.session(sha256), sealed, 'PX', Math.max(1, Math.floor(ttlMs)));
}

export const readSession = (redis: RedisClient, sha256: string): Promise<string | null> =>
  redis.get(consoleKeys.session(sha256));

export async function removeSession(redis: RedisClient, sha256: string): Promise<void> {
  await redis.del(consoleKeys.session(sha256));
}
