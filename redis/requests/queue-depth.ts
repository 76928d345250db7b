/** Samples of how many requests wait, for usage charts: taken by one gateway at a time, whichever comes first. */
import { workKeys } from '../../api/redis-keys.ts';
import type { RedisClient } from '../client.ts';
import type { UsageCounter } from '../usage/usage.ts';
import { countWaiting, readOldest } from './request-record.ts';

/** Between two samples; each gateway tries at this interval. */
export const SAMPLE_INTERVAL_MS = 10_000;
/** Less, so that the gateway of the last sample is not too early for its next one. */
const MARK_MS = 8_000;

export interface QueueSample {
  waiting: number;
  /** How long the oldest has waited; 0 where none waits. */
  oldestMs: number;
}

/** One sample; null where another gateway has just taken one. */
export async function sampleQueueDepth(
  redis: RedisClient,
  namespace: string,
  deployment: string,
): Promise<QueueSample | null> {
  const mark = await redis.set(workKeys(namespace).looked(deployment), '1', 'PX', MARK_MS, 'NX');
  if (mark !== 'OK') return null;
  const [waiting, since] = await Promise.all([
    countWaiting(redis, namespace, deployment),
    readOldest(redis, namespace, deployment),
  ]);
  return { waiting, oldestMs: since === null ? 0 : Math.max(0, Date.now() - since) };
}

/** As the usage charts have it. */
export const countSample = ({ waiting }: QueueSample): [UsageCounter, number][] => [
  ['queueLooks', 1],
  ['queuePeak', waiting],
];
