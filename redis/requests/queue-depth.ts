/**
 * Samples of queue depth, for usage charts. One gateway at a time takes a sample, whichever is first;
 * nothing is written for empty queues, since most queues of an installation are empty.
 */
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
  /** How long the oldest has waited; 0 if none waits. */
  oldestMs: number;
}

/** One sample; null if another gateway has just taken one. */
export async function sampleQueueDepth(
  redis: RedisClient,
  namespace: string,
  deployment: string,
): Promise<QueueSample | null> {
  const waiting = await countWaiting(redis, namespace, deployment);
  if (waiting === 0) return { waiting, oldestMs: 0 };
  const mark = await redis.set(workKeys(namespace).sampled(deployment), '1', 'PX', MARK_MS, 'NX');
  if (mark !== 'OK') return null;
  const since = await readOldest(redis, namespace, deployment);
  return { waiting, oldestMs: since === null ? 0 : Math.max(0, Date.now() - since) };
}

/** As the usage charts have it, which show nothing as none. */
export const countSample = ({ waiting }: QueueSample): [UsageCounter, number][] =>
  waiting === 0
    ? []
    : [
        ['queueSamples', 1],
        ['queuePeak', waiting],
      ];
