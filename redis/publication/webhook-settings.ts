/** A workspace's published webhook settings: endpoints, signing secret, the owner's address. */
import { configKeys, type PublishedEndpoint } from '../../api/redis-keys.ts';
import type { RedisClient } from '../client.ts';

/** By name. */
export async function readEndpoints(
  redis: RedisClient,
  namespace: string,
): Promise<Map<string, PublishedEndpoint>> {
  const entries = await redis.hgetall(configKeys(namespace).endpoints);
  return new Map(
    Object.entries(entries).map(([name, text]) => [name, JSON.parse(text) as PublishedEndpoint]),
  );
}

/** Sealed (api/signing-secret.ts); null where there is none. */
export const readSigningSecret = (redis: RedisClient, namespace: string): Promise<string | null> =>
  redis.hget(configKeys(namespace).workspace, 'signingSecret');

/** Who is notified of permanently failed callbacks; null = nobody. */
export const readOwnerEmail = (redis: RedisClient, namespace: string): Promise<string | null> =>
  redis.hget(configKeys(namespace).workspace, 'ownerEmail');
