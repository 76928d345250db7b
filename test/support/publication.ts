/** Reads and writes single entries, which the operator publishes only together. */
import { configKeys, type PublishedKey } from '../../api/redis-keys.ts';
import type { RedisClient } from '../../redis/client.ts';
import { writeField } from '../../redis/publication/hash-publication.ts';

/** All keys of a workspace by SHA-256. */
export async function readApiKeys(redis: RedisClient, namespace: string): Promise<Map<string, PublishedKey>> {
  const entries = await redis.hgetall(configKeys(namespace).apiKeys);
  return new Map(Object.entries(entries).map(([sha256, text]) => [sha256, JSON.parse(text) as PublishedKey]));
}

/** Adds or replaces one key; the others stay. */
export const publishApiKey = (
  redis: RedisClient,
  namespace: string,
  sha256: string,
  key: PublishedKey,
): Promise<boolean> => {
  const field = { key: configKeys(namespace).apiKeys, field: sha256, value: JSON.stringify(key) };
  return writeField(redis, field, { what: 'apikeys', namespace });
};
