/** What deployments served over time: counters by minute for a day, by hour for a month. */
import { workKeys } from '../contract/redis-keys.ts';
import type { RedisClient } from './client.ts';
import { estimateQuantile, LATENCY_BOUNDS_MS } from './latency-buckets.ts';

/** Short, since they stand in every field: one hash holds a period, a field one counter of one slot of it. */
const COUNTERS = {
  requests: 'r',
  clientErrors: 'c',
  rateLimited: 'l',
  serverErrors: 's',
  inputTokens: 'i',
  outputTokens: 'o',
  images: 'm',
  videos: 'v',
  /** In thousandths, since counters are whole. */
  videoMilliseconds: 'd',
  /** Looks at the queue, and what they saw in all. */
  queueLooks: 'n',
  queueSeen: 'q',
} as const;
export type UsageCounter = keyof typeof COUNTERS;

/** Counters and latency buckets (by their index) to add. */
export type UsageSums = ReadonlyMap<UsageCounter | number, number>;

interface Resolution {
  name: 'minute' | 'hour';
  slotSeconds: number;
  /** Of one hash. */
  periodSeconds: number;
  keepSeconds: number;
}
const HOUR = 3_600;
const DAY = 86_400;
const RESOLUTIONS: readonly Resolution[] = [
  { name: 'minute', slotSeconds: 60, periodSeconds: HOUR, keepSeconds: 26 * HOUR },
  { name: 'hour', slotSeconds: HOUR, periodSeconds: DAY, keepSeconds: 35 * DAY },
];

/** Adds to what a deployment served at a time (Unix milliseconds). */
export async function addUsage(
  redis: RedisClient,
  { namespace, deployment, at, sums }: { namespace: string; deployment: string; at: number; sums: UsageSums },
): Promise<void> {
  if (sums.size === 0) return;
  // Tenants' users have no transactions; a counter that is lost here is no harm.
  const batch = redis.pipeline();
  for (const { name, slotSeconds, periodSeconds, keepSeconds } of RESOLUTIONS) {
    const seconds = Math.floor(at / 1000);
    const period = Math.floor(seconds / periodSeconds);
    const slot = Math.floor((seconds % periodSeconds) / slotSeconds);
    const key = workKeys(namespace).usage(deployment, name, period);
    for (const [counter, amount] of sums) batch.hincrby(key, `${slot}:${fieldOf(counter)}`, amount);
    batch.expire(key, keepSeconds);
  }
  for (const [error] of (await batch.exec()) ?? []) if (error) throw error;
}

const fieldOf = (counter: UsageCounter | number): string =>
  typeof counter === 'number' ? `b${counter}` : COUNTERS[counter];

export interface UsageStep {
  /** When it began, Unix milliseconds. */
  at: number;
  requests: number;
  clientErrors: number;
  rateLimited: number;
  serverErrors: number;
  inputTokens: number;
  outputTokens: number;
  images: number;
  videos: number;
  videoSeconds: number;
  p50Ms: number | null;
  p95Ms: number | null;
  /** Requests that waited: each deployment's average of the looks. */
  queued: number;
}

export interface UsageQuestion {
  namespace: string;
  /** Added up. */
  deployments: readonly string[];
  /** Unix milliseconds; `to` is not part of it. */
  from: number;
  to: number;
  /** Multiple of 60; what is under an hour is known for the last day only. */
  stepSeconds: number;
}

/** One entry a step, oldest first, steps without anything included. */
export async function readUsage(redis: RedisClient, question: UsageQuestion): Promise<UsageStep[]> {
  const { namespace, deployments, from, to, stepSeconds } = question;
  const { name, slotSeconds, periodSeconds } = RESOLUTIONS.findLast(
    (each) => stepSeconds % each.slotSeconds === 0,
  )!;
  const begin = Math.floor(from / 1000 / stepSeconds) * stepSeconds;
  const end = Math.ceil(to / 1000 / stepSeconds) * stepSeconds;
  const steps = Array.from({ length: (end - begin) / stepSeconds }, () => new Map<string, number>());
  // Looks are of one deployment: averages add up, looks do not.
  const queues = steps.map(() => new Map<string, QueueLooks>());
  const reads = [];
  for (let period = Math.floor(begin / periodSeconds); period * periodSeconds < end; period++)
    for (const deployment of deployments)
      reads.push(
        redis.hgetall(workKeys(namespace).usage(deployment, name, period)).then((fields) => {
          for (const [field, amount] of Object.entries(fields)) {
            const [slot, counter] = field.split(':');
            const at = period * periodSeconds + Number(slot) * slotSeconds;
            const index = Math.floor((at - begin) / stepSeconds);
            const sums = steps[index];
            if (!sums) continue;
            if (counter === COUNTERS.queueLooks || counter === COUNTERS.queueSeen)
              addLooks(queues[index]!, { deployment, counter, amount: Number(amount) });
            else sums.set(counter!, (sums.get(counter!) ?? 0) + Number(amount));
          }
        }),
      );
  await Promise.all(reads);
  return steps.map((sums, index) => ({
    at: (begin + index * stepSeconds) * 1000,
    ...decodeSums(sums),
    queued: sumQueues(queues[index]!),
  }));
}

interface QueueLooks {
  looks: number;
  seen: number;
}

function addLooks(
  queues: Map<string, QueueLooks>,
  { deployment, counter, amount }: { deployment: string; counter: string; amount: number },
): void {
  const queue = queues.get(deployment) ?? { looks: 0, seen: 0 };
  queue[counter === COUNTERS.queueLooks ? 'looks' : 'seen'] += amount;
  queues.set(deployment, queue);
}

const sumQueues = (queues: ReadonlyMap<string, QueueLooks>): number =>
  [...queues.values()].reduce((sum, { looks, seen }) => sum + (looks === 0 ? 0 : seen / looks), 0);

function decodeSums(sums: ReadonlyMap<string, number>): Omit<UsageStep, 'at' | 'queued'> {
  const read = (counter: UsageCounter) => sums.get(COUNTERS[counter]) ?? 0;
  const buckets = Array.from({ length: LATENCY_BOUNDS_MS.length + 1 }, (_, i) => sums.get(`b${i}`) ?? 0);
  return {
    requests: read('requests'),
    clientErrors: read('clientErrors'),
    rateLimited: read('rateLimited'),
    serverErrors: read('serverErrors'),
    inputTokens: read('inputTokens'),
    outputTokens: read('outputTokens'),
    images: read('images'),
    videos: read('videos'),
    videoSeconds: read('videoMilliseconds') / 1000,
    p50Ms: estimateQuantile(buckets, 0.5),
    p95Ms: estimateQuantile(buckets, 0.95),
  };
}
