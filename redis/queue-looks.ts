/** How many requests wait, as usage tells it: looked at by one gateway at a time, whichever comes first. */
import { workKeys } from '../contract/redis-keys.ts';
import type { RedisClient } from './client.ts';
import { countWaiting } from './request-record.ts';
import type { UsageCounter } from './usage.ts';

/** Between two turns; each gateway that may look comes so often. */
export const LOOK_MS = 10_000;
/** Less, so that who looked last is not too early for its own next turn. */
const MARK_MS = 8_000;

/** The counters to add for one look; none where another gateway has just looked. */
export async function lookAtQueue(
  redis: RedisClient,
  namespace: string,
  deployment: string,
): Promise<Map<UsageCounter, number>> {
  const mark = await redis.set(workKeys(namespace).looked(deployment), '1', 'PX', MARK_MS, 'NX');
  if (mark !== 'OK') return new Map();
  return new Map([
    ['queueLooks', 1],
    ['queueSeen', await countWaiting(redis, namespace, deployment)],
  ]);
}

/** Deployments that had requests, and may have some that wait. */
export const listQueues = (redis: RedisClient, namespace: string): Promise<string[]> =>
  redis.zrevrange(workKeys(namespace).deployments, 0, -1);
