/** Samples of how many requests wait, for usage charts: taken by one gateway at a time, whichever comes first. */
import { workKeys } from '../../api/redis-keys.ts';
import type { RedisClient } from '../client.ts';
import type { UsageCounter } from '../usage/usage.ts';
import { countWaiting } from './request-record.ts';

/** Between two samples; each gateway tries at this interval. */
export const SAMPLE_INTERVAL_MS = 10_000;
/** Less, so that the gateway of the last sample is not too early for its next one. */
const MARK_MS = 8_000;

/** One sample; nothing where another gateway has just taken one. */
export async function sampleQueueDepth(
  redis: RedisClient,
  namespace: string,
  deployment: string,
): Promise<Map<UsageCounter, number>> {
  const mark = await redis.set(workKeys(namespace).looked(deployment), '1', 'PX', MARK_MS, 'NX');
  if (mark !== 'OK') return new Map();
  const waiting = await countWaiting(redis, namespace, deployment);
  return new Map([
    ['queueLooks', 1],
    ['queuePeak', waiting],
  ]);
}
