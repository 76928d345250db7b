/** Measures how long a request waits for an idle worker. Part of `make bench` (ONLY=wait). */
import type { RedisClient } from '../../redis/client.ts';
import { startMediaPod } from './media-pod.ts';
import { atMost, formatRows, type Goal } from './report.ts';
import { percentile } from './statistics.ts';

/** Milliseconds, by Redis' clock: from `queued` to `running`. */
export interface QueueWait {
  p50: number;
  p99: number;
}

const REQUESTS = 100;
const MAX_PAUSE_MS = 50;

export async function measureQueueWait(redis: RedisClient): Promise<QueueWait> {
  const pod = await startMediaPod(redis, 'video');
  try {
    const waits: number[] = [];
    await pod.run('small');
    for (let i = 0; i < REQUESTS; i++) {
      const { queuedAt, startedAt } = await pod.run('small');
      waits.push(startedAt! - queuedAt);
      // Not in step with the worker's polls.
      await new Promise((resolve) => setTimeout(resolve, Math.random() * MAX_PAUSE_MS));
    }
    return { p50: percentile(waits, 0.5), p99: percentile(waits, 0.99) };
  } finally {
    await pod.stop();
  }
}

export const formatQueueWait = ({ p50, p99 }: QueueWait): string =>
  formatRows([
    ['a request for an idle worker', 'ms'],
    ['waits, p50', p50.toFixed(1)],
    ['waits, p99', p99.toFixed(1)],
  ]);

export const listQueueWaitGoals = ({ p50 }: QueueWait): Goal[] => [
  atMost('wait for an idle worker p50, ms', p50, 2),
];
