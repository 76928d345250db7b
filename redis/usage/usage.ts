/** Deployments' usage over time: counters by minute for a day, by hour for a month (decision 0098). */
import { workKeys } from '../../api/redis-keys.ts';
import type { UsageCounts } from '../../api/usage.ts';
import { LatencySketch } from '../../kit/latency-sketch.ts';
import type { RedisClient } from '../client.ts';
import { isCount } from '../untrusted-values.ts';
import { addEarlierBucket } from './earlier-latency-buckets.ts';
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
  queuePeak: 'q',
  inflightPeak: 'p',
  runningPeak: 'x',
  engineWaitingPeak: 'e',
  slotWaitingPeak: 'z',
  cacheUsePeak: 'y',
  /** Percent of the KV cache in use, over all samples of all replicas. */
  cacheUseSum: 'k',
  cacheUseSamples: 'u',
} as const;
export type UsageCounter = keyof typeof COUNTERS;

/** Fields of the maxima: not sums. */
const PEAKS: ReadonlySet<string> = new Set([
  COUNTERS.queuePeak,
  COUNTERS.inflightPeak,
  COUNTERS.runningPeak,
  COUNTERS.engineWaitingPeak,
  COUNTERS.slotWaitingPeak,
  COUNTERS.cacheUsePeak,
]);

/** To add. */
export type UsageSums = ReadonlyMap<UsageCounter, number>;

/** The latencies of whole requests, the times to the first token of streams, and waits before an engine took them, with their fields. */
const SKETCHES = { whole: 'w', firstToken: 'f', wait: 'g' } as const;
export type UsageLatencies = Record<keyof typeof SKETCHES, LatencySketch>;
const SKETCH_NAMES = Object.keys(SKETCHES) as (keyof typeof SKETCHES)[];
const findSketch = (field: string) => SKETCH_NAMES.find((name) => SKETCHES[name] === field);

export const createLatencies = (): UsageLatencies => ({
  whole: new LatencySketch(),
  firstToken: new LatencySketch(),
  wait: new LatencySketch(),
});

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
  latencies?: UsageLatencies;
}

/** A batch's part for the charts, in each resolution. */
export const listUsage = ({ namespace, deployment, at, sums, latencies }: DeploymentSums): HashCounts[] => {
  const texts = SKETCH_NAMES.filter((name) => latencies?.[name].isEmpty === false).map(
    (name) => [SKETCHES[name], `${latencies![name]}`] as const,
  );
  return RESOLUTIONS.map(({ name, slotSeconds, periodSeconds, keepSeconds }) => {
    const seconds = Math.floor(at / 1000);
    const slot = Math.floor((seconds % periodSeconds) / slotSeconds);
    return {
      key: workKeys(namespace).usage(deployment, name, Math.floor(seconds / periodSeconds)),
      keepSeconds,
      counts: [...sums].map(([counter, amount]) => {
        const field = COUNTERS[counter];
        return [`${slot}:${field}`, amount, PEAKS.has(field)] as const;
      }),
      sketches: texts.map(([field, text]) => [`${slot}:${field}`, text] as const),
    };
  });
};

/** Adds to a deployment's usage. A caller that repeats it after an error may add it twice. */
export async function addUsage(redis: RedisClient, added: DeploymentSums): Promise<void> {
  await addBatch(redis, { ...added, hashes: listUsage(added) });
}

export interface UsageStep extends UsageCounts {
  /** Start, Unix milliseconds. */
  at: number;
}

export interface UsageReport {
  /** One entry per step, oldest first, including empty steps. Latencies are those of one deployment; null if several were asked for. */
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
  const steps = Array.from({ length: (end - begin) / stepSeconds }, () => new StepSums());
  const total = new StepSums();
  const withLatencies = deployments.length === 1;
  for await (const { period, counters } of readUsageHashes(redis, namespace, listPeriods()))
    for (const { slot, field, value } of counters) {
      const sums = steps[Math.floor((period * periodSeconds + slot * slotSeconds - begin) / stepSeconds)];
      sums?.addField(field, value);
    }
  for (const sums of steps) total.add(sums);
  return {
    steps: steps.map((sums, index) => ({ at: (begin + index * stepSeconds) * 1000, ...sums.describe() })),
    total: total.describe(),
  };

  function* listPeriods() {
    for (let period = Math.floor(begin / periodSeconds); period * periodSeconds < end; period++)
      for (const deployment of deployments)
        yield {
          key: workKeys(namespace).usage(deployment, name, period),
          view: (entries: readonly string[]) => ({ period, counters: decodePeriod(entries, withLatencies) }),
        };
  }
}

interface PeriodField {
  slot: number;
  field: string;
  value: string;
}

const FIELD = /^(\d{1,2}):([a-z]|[bt](?:1[0-3]|\d))$/;

const isEarlierBucket = (field: string): boolean => field.length > 1;

/** Skips anything that is not one of our fields: the workspace's own Redis user may write there. */
function decodePeriod(entries: readonly string[], withLatencies: boolean): PeriodField[] {
  const fields: PeriodField[] = [];
  for (let i = 0; i < entries.length; i += 2) {
    const [, slot, field] = FIELD.exec(entries[i]!) ?? [];
    if (!slot || !field || (!withLatencies && (isEarlierBucket(field) || findSketch(field)))) continue;
    fields.push({ slot: Number(slot), field, value: entries[i + 1]! });
  }
  return fields;
}

/** What the fields of a step add up to. */
class StepSums {
  readonly #sums = new Map<string, number>();
  readonly #latencies = createLatencies();

  addField(field: string, value: string): void {
    const sketch = findSketch(field);
    const amount = Number(value);
    if (sketch) this.#latencies[sketch].merge(value);
    else if (isCount(amount)) this.#count(field, amount);
  }

  /** What another step adds up to, before it is described. */
  add(other: StepSums): void {
    for (const [field, amount] of other.#sums) this.#count(field, amount);
    for (const name of SKETCH_NAMES) this.#latencies[name].add(other.#latencies[name]);
  }

  #count(field: string, amount: number): void {
    const before = this.#sums.get(field) ?? 0;
    this.#sums.set(field, PEAKS.has(field) ? Math.max(before, amount) : before + amount);
  }

  /** Once, at the end. */
  describe(): Omit<UsageStep, 'at'> {
    const counters = Object.fromEntries(
      Object.entries(COUNTERS).map(([counter, field]) => [counter, this.#sums.get(field) ?? 0]),
    ) as Record<UsageCounter, number>;
    const { videoMilliseconds, audioMilliseconds, queueSamples: _, ...measured } = counters;
    const { cacheUseSum, cacheUseSamples, cacheUsePeak, ...others } = measured;
    const { whole, firstToken, wait } = this.#latencies;
    const buckets = [...this.#sums].filter(([field]) => isEarlierBucket(field));
    for (const [field, count] of buckets)
      addEarlierBucket(field.startsWith('b') ? whole : firstToken, Number(field.slice(1)), count);
    return {
      ...others,
      videoSeconds: videoMilliseconds / 1000,
      audioSeconds: audioMilliseconds / 1000,
      cacheUse: cacheUseSamples > 0 ? Math.min(100, Math.round(cacheUseSum / cacheUseSamples)) : null,
      cacheUsePeak: cacheUseSamples > 0 ? Math.min(100, cacheUsePeak) : null,
      p50Ms: whole.quantile(0.5),
      p95Ms: whole.quantile(0.95),
      // A bucket of an earlier version tells too little of the last one in a hundred.
      p99Ms: buckets.length === 0 ? whole.quantile(0.99) : null,
      firstTokenP50Ms: firstToken.quantile(0.5),
      firstTokenP95Ms: firstToken.quantile(0.95),
      waitP50Ms: wait.quantile(0.5),
      waitP95Ms: wait.quantile(0.95),
    };
  }
}
