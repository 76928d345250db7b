/** The console's sessions, sealed, so that Redis' content reveals nothing; and short-lived keys of signed-in users. */
import { channels, configKeys, consoleKeys, type PublishedKey } from '../../api/redis-keys.ts';
import { execute, type RedisClient } from '../client.ts';

/** `sha256`: of the session's id, which only the browser has. */
export async function saveSession(
  redis: RedisClient,
  { sha256, sealed, ttlMs }: { sha256: string; sealed: string; ttlMs: number },
): Promise<void> {
  await redis.set(consoleKeys.session(sha256), sealed, 'PX', Math.max(1, Math.floor(ttlMs)));
}

export const readSession = (redis: RedisClient, sha256: string): Promise<string | null> =>
  redis.get(consoleKeys.session(sha256));

/** Keeps its expiry. False if the session has ended meanwhile. */
export const replaceSession = async (
  redis: RedisClient,
  { sha256, sealed }: { sha256: string; sealed: string },
): Promise<boolean> => (await redis.set(consoleKeys.session(sha256), sealed, 'KEEPTTL', 'XX')) !== null;

/** Locks the renewal of its token for one console. False if another has it. */
export const lockRenewal = async (redis: RedisClient, sha256: string, ttlMs: number): Promise<boolean> =>
  (await redis.set(consoleKeys.renewal(sha256), '1', 'PX', ttlMs, 'NX')) !== null;

export async function unlockRenewal(redis: RedisClient, sha256: string): Promise<void> {
  await redis.del(consoleKeys.renewal(sha256));
}

/** Removes it, and notifies all consoles. */
export async function removeSession(redis: RedisClient, sha256: string): Promise<void> {
  const batch = redis.multi().del(consoleKeys.session(sha256)).publish(channels.consoleSessions, sha256);
  await execute(batch);
}

const CHECKED_AT_ONCE = 500;

/** Those of these sessions that have ended. */
export async function findEnded(redis: RedisClient, digests: readonly string[]): Promise<string[]> {
  const ended: string[] = [];
  for (let start = 0; start < digests.length; start += CHECKED_AT_ONCE) {
    const some = digests.slice(start, start + CHECKED_AT_ONCE);
    const counts = await Promise.all(some.map((sha256) => redis.exists(consoleKeys.session(sha256))));
    ended.push(...some.filter((_, index) => counts[index] === 0));
  }
  return ended;
}

/** Created by the console for a user: no object, no trace after expiry. */
export interface SessionKey extends Pick<PublishedKey, 'rpm' | 'tpd'> {
  sha256: string;
  /** The user, for logs. */
  name: string;
  /** Unix milliseconds. */
  expiresAt: number;
}

/** Gateways accept the key from now on. */
export async function publishSessionKey(
  redis: RedisClient,
  namespace: string,
  { sha256, name, rpm, tpd, expiresAt }: SessionKey,
): Promise<void> {
  const key: PublishedKey = { n: name, rpm, tpd, exp: Math.ceil(expiresAt / 1000), off: 0 };
  await redis.set(configKeys(namespace).sessionKey(sha256), JSON.stringify(key), 'PXAT', expiresAt);
}
