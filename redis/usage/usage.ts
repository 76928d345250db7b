/** Deployments' usage over time: counters by minute for a day, by hour for a month (decision 0098). */
import { workKeys } from '../../api/redis-keys.ts';
import type { UsageCounts } from '../../api/usage.ts';
import type { RedisClient } from '../client.ts';
import { estimateQuantile, type FirstTokenBucket, LATENCY_BOUNDS_MS } from './latency-buckets.ts';
import { addBatch, type HashCounts } from './usage-batch.ts';
import { readUsageHashes } from './usage-hashes.ts';

/** Short, since they are part of every field: one hash holds a period, a field one counter of one slot of it. */
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
  /** Length of transcribed or translated audio. */
  audioMilliseconds: 'a',
  /** Length of the text of generated speech. */
  characters: 'h',
  /** How often the queue depth was sampled. */
  queueSamples: 'n',
  /** The maximum observed queue depth: not a sum. */
  queuePeak: 'q',
} as const;
export type UsageCounter = keyof typeof COUNTERS;

/** A counter, the index of a latency bucket, or a bucket of times to the first token. */
export type UsageEntry = UsageCounter | number | FirstTokenBucket;

/** To add. */
export type UsageSums = ReadonlyMap<UsageEntry, number>;

interface Resolution {
  name: 'minute' | 'hour';
  slotSeconds: number;
  /** Period of one hash. */
  periodSeconds: number;
  keepSeconds: number;
}
const HOUR = 3_600;
const DAY = 86_400;
const RESOLUTIONS: readonly Resolution[] = [
  { name: 'minute', slotSeconds: 60, periodSeconds: HOUR, keepSeconds: 26 * HOUR },
  { name: 'hour', slotSeconds: HOUR, periodSeconds: DAY, keepSeconds: 35 * DAY },
];

export interface DeploymentSums {
  namespace: string;
  deployment: string;
  /** Unix milliseconds. */
  at: number;
  sums: UsageSums;
}

/** A batch's part for the charts, in each resolution. */
export const listUsage = ({ namespace, deployment, at, sums }: DeploymentSums): HashCounts[] =>
  RESOLUTIONS.map(({ name, slotSeconds, periodSeconds, keepSeconds }) => {
    const seconds = Math.floor(at / 1000);
    const slot = Math.floor((seconds % periodSeconds) / slotSeconds);
    return {
      key: workKeys(namespace).usage(deployment, name, Math.floor(seconds / periodSeconds)),
      keepSeconds,
      counts: [...sums].map(
        ([counter, amount]) => [`${slot}:${fieldOf(counter)}`, amount, counter === 'queuePeak'] as const,
      ),
    };
  });

/** Adds to a deployment's usage. A caller that repeats it after an error may add it twice. */
export async function addUsage(redis: RedisClient, added: DeploymentSums): Promise<void> {
  await addBatch(redis, { ...added, hashes: listUsage(added) });
}

const isCounter = (entry: UsageEntry): entry is UsageCounter => entry in COUNTERS;

function fieldOf(entry: UsageEntry): string {
  if (typeof entry === 'number') return `b${entry}`;
  return isCounter(entry) ? COUNTERS[entry] : entry;
}

export interface UsageStep extends UsageCounts {
  /** Start, Unix milliseconds. */
  at: number;
}

export interface UsageReport {
  /** One entry per step, oldest first, including empty steps. */
  steps: UsageStep[];
  /** Total of the whole range, from all its times: quantiles of steps do not add up. */
  total: Omit<UsageStep, 'at'>;
}

export interface UsageQuestion {
  namespace: string;
  /** Added up. */
  deployments: readonly string[];
  /** Unix milliseconds; `to` is exclusive. */
  from: number;
  to: number;
  /** Multiple of 60; resolutions under an hour cover the last day only. */
  stepSeconds: number;
}

export async function readUsage(redis: RedisClient, question: UsageQuestion): Promise<UsageReport> {
  const { namespace, deployments, from, to, stepSeconds } = question;
  const { name, slotSeconds, periodSeconds } = RESOLUTIONS.findLast(
    (each) => stepSeconds % each.slotSeconds === 0,
  )!;
  const begin = Math.floor(from / 1000 / stepSeconds) * stepSeconds;
  const end = Math.ceil(to / 1000 / stepSeconds) * stepSeconds;
  const steps = Array.from({ length: (end - begin) / stepSeconds }, () => new Map<string, number>());
  const total = new Map<string, number>();
  for await (const { period, counters } of readUsageHashes(redis, namespace, listPeriods()))
    for (const { slot, counter, amount } of counters) {
      const sums = steps[Math.floor((period * periodSeconds + slot * slotSeconds - begin) / stepSeconds)];
      if (!sums) continue;
      combine(sums, counter, amount);
      combine(total, counter, amount);
    }
  return {
    steps: steps.map((sums, index) => ({ at: (begin + index * stepSeconds) * 1000, ...decodeSums(sums) })),
    total: decodeSums(total),
  };

  function* listPeriods() {
    for (let period = Math.floor(begin / periodSeconds); period * periodSeconds < end; period++)
      for (const deployment of deployments)
        yield {
          key: workKeys(namespace).usage(deployment, name, period),
          view: (entries: readonly string[]) => ({ period, counters: decodePeriod(entries) }),
        };
  }
}

function combine(sums: Map<string, number>, counter: string, amount: number): void {
  const before = sums.get(counter) ?? 0;
  sums.set(counter, counter === COUNTERS.queuePeak ? Math.max(before, amount) : before + amount);
}

interface PeriodCounter {
  slot: number;
  counter: string;
  amount: number;
}

const FIELD = /^(\d{1,2}):([a-z]|[bt]\d{1,2})$/;

/** Skips anything that is not one of our counters: the workspace's own Redis user may write there. */
function decodePeriod(entries: readonly string[]): PeriodCounter[] {
  const counters: PeriodCounter[] = [];
  for (let i = 0; i < entries.length; i += 2) {
    const [, slot, counter] = FIELD.exec(entries[i]!) ?? [];
    const amount = Number(entries[i + 1]);
    if (slot && counter && Number.isSafeInteger(amount))
      counters.push({ slot: Number(slot), counter, amount });
  }
  return counters;
}

function decodeSums(sums: ReadonlyMap<string, number>): Omit<UsageStep, 'at'> {
  const counters = Object.fromEntries(
    Object.entries(COUNTERS).map(([counter, field]) => [counter, sums.get(field) ?? 0]),
  ) as Record<UsageCounter, number>;
  const { videoMilliseconds, audioMilliseconds, queueSamples: _, ...others } = counters;
  const readBuckets = (letter: 'b' | 't') =>
    Array.from({ length: LATENCY_BOUNDS_MS.length + 1 }, (_, i) => sums.get(`${letter}${i}`) ?? 0);
  const whole = readBuckets('b');
  const firstToken = readBuckets('t');
  return {
    ...others,
    videoSeconds: videoMilliseconds / 1000,
    audioSeconds: audioMilliseconds / 1000,
    p50Ms: estimateQuantile(whole, 0.5),
    p95Ms: estimateQuantile(whole, 0.95),
    firstTokenP50Ms: estimateQuantile(firstToken, 0.5),
    firstTokenP95Ms: estimateQuantile(firstToken, 0.95),
  };
}
