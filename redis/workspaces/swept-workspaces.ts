/** Workspaces to sweep: published ones, and deleted ones with remaining data. */
import { deliveryKeys, globalKeys, workKeys } from '../../api/redis-keys.ts';
import type { RedisClient } from '../client.ts';
import { forgetDeliveries } from '../deliveries/delivery-log.ts';
import { readWorkspaces } from '../publication/published.ts';

/** All of them. Published ones are recorded, so that they are still known once they are gone. */
export async function listSweptWorkspaces(redis: RedisClient): Promise<string[]> {
  const [published, noted] = await Promise.all([readWorkspaces(redis), redis.smembers(globalKeys.swept)]);
  const known = new Set(noted);
  const added = published.filter((namespace) => !known.has(namespace));
  if (added.length > 0) await redis.sadd(globalKeys.swept, ...added);
  return [...noted, ...added].sort();
}

/** Removes a workspace that is not published and has nothing left to finish, deliver or remove; returns whether it did. */
export async function forgetSwept(redis: RedisClient, namespace: string): Promise<boolean> {
  const { leases, ended, deployments, outbox, cleanup } = workKeys(namespace);
  const { destinations, mail, digest } = deliveryKeys(namespace);
  const left = [leases, ended, deployments, outbox, cleanup, destinations, mail, digest];
  const [isPublished, remaining] = await Promise.all([
    redis.sismember(globalKeys.workspaces, namespace),
    redis.exists(...left),
  ]);
  if (isPublished || remaining > 0) return false;
  await forgetDeliveries(redis, namespace);
  return (await redis.srem(globalKeys.swept, namespace)) === 1;
}
