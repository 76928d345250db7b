/** Short-lived keys that the console creates for a signed-in user: no object, no trace after expiry. */
import { configKeys, type PublishedKey } from '../../api/redis-keys.ts';
import type { RedisClient } from '../client.ts';

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
