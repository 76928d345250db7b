/** Deployments' usage, for the console's charts: aggregated in memory, written every few seconds. */
import { type Clock, systemClock } from '../../kit/clock.ts';
import { PeriodicTask } from '../../kit/periodic-task.ts';
import { isRedisAway, type RedisClient } from '../../redis/client.ts';
import { countSample, SAMPLE_INTERVAL_MS, sampleQueueDepth } from '../../redis/requests/queue-depth.ts';
import { noteRequests } from '../../redis/requests/recent-requests.ts';
import { HASH_DIGITS, type KeyUsage, listKeyUsage } from '../../redis/usage/key-usage.ts';
import { writeKeyUses } from '../../redis/usage/key-uses.ts';
import { createLatencies, listUsage, type UsageCounter, type UsageSums } from '../../redis/usage/usage.ts';
import type { HashCounts } from '../../redis/usage/usage-batch.ts';
import { KeyUses } from './key-uses.ts';
import type { Logger } from './log.ts';
import type { GatewayMetrics } from './metrics.ts';
import { RecentRequests } from './recent-requests.ts';
import { UsageWriter } from './usage-writer.ts';

const ACCEPTED = 202;
/** Anthropic's status for a full deployment (429 elsewhere). */
const OVERLOADED = 529;

/** Latencies are written once for each: Redis takes ten times as long to merge them as to add counts. */
const LATENCIES_MS = 60_000;
/** Flushes until a minute's latencies are written, at random: Redis would merge those of all gateways at once. */
const MAX_DELAY = 5;
/** Latencies that waited for Redis for longer are told of now, as counts are. */
const MAX_LATE_MS = 2 * LATENCIES_MS;
const countMinutes = (at: number): number => Math.floor(at / LATENCIES_MS);
const NO_SUMS: UsageSums = new Map();

export interface UsageMeterOptions {
  redis: RedisClient;
  log: Logger;
  /** Counts queue samples, and what is lost. */
  metrics?: Pick<GatewayMetrics, 'queues' | 'usageLost'>;
  clock?: Pick<Clock, 'date'>;
  /** From 0 to below 1. */
  random?: () => number;
}

interface Place {
  namespace: string;
  deployment: string;
  /** Unix milliseconds. */
  at: number;
}

const add = (sum: number, amount: number): number => Math.min(sum + amount, Number.MAX_SAFE_INTEGER);

/** One deployment's sums not written yet. */
export class DeploymentUsage {
  readonly sums = new Map<UsageCounter, number>();
  readonly latencies = createLatencies();
  /** By the first digits of the keys' SHA-256. */
  readonly keys = new Map<string, KeyUsage>();
  readonly keyUses = new KeyUses();
  readonly recent = new RecentRequests();

  add(entry: UsageCounter, amount = 1): void {
    this.sums.set(entry, add(this.sums.get(entry) ?? 0, amount));
  }

  /** Keeps the highest. */
  raise(entry: UsageCounter, amount: number): void {
    if (amount > (this.sums.get(entry) ?? 0)) this.sums.set(entry, amount);
  }

  /** Charges of a key, by what `countedAs` gives of it. */
  addOfKey(sha256: string, used: KeyUsage): void {
    const keyHash = sha256.slice(0, HASH_DIGITS);
    const sum = this.keys.get(keyHash);
    if (!sum) this.keys.set(keyHash, { ...used });
    else {
      sum.requests = add(sum.requests, used.requests);
      sum.inputTokens = add(sum.inputTokens, used.inputTokens);
      sum.outputTokens = add(sum.outputTokens, used.outputTokens);
      sum.micros = add(sum.micros, used.micros);
    }
  }

  /** A finished request: `status` is HTTP's, 499 if the client disconnected; `firstTokenMs` of a stream; `waitedMs` before an engine took it. */
  countRequest(status: number, milliseconds: number, firstTokenMs: number | null = null, waitedMs = 0): void {
    this.add('requests');
    if (status === 429 || status === OVERLOADED) this.add('rateLimited');
    else if (status >= 500) this.add('serverErrors');
    else if (status >= 400) this.add('clientErrors');
    // Queued requests are timed when a worker ends them.
    else if (status !== ACCEPTED) {
      this.observe(milliseconds);
      if (firstTokenMs !== null) this.latencies.firstToken.observe(firstTokenMs);
      this.latencies.wait.observe(waitedMs);
    }
  }

  observe(milliseconds: number): void {
    this.latencies.whole.observe(milliseconds);
  }
}

interface Entry {
  namespace: string;
  name: string;
  usage: DeploymentUsage;
  writer: UsageWriter;
  hasQueue: boolean;
  /** It is no longer served here: kept until all is written. */
  isLeft: boolean;
  /** The first flush that saw latencies which are not cut yet, Unix milliseconds; null: there are none. */
  latenciesAt: number | null;
  /** The minute of the latest cut. */
  cutMinute: number;
  /** Latencies of an earlier minute, to be written after as many further flushes. */
  late: { hashes: HashCounts[]; flushes: number } | null;
}

export class UsageMeter {
  readonly #options: UsageMeterOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #flushes: PeriodicTask;

  constructor(options: UsageMeterOptions) {
    this.#options = options;
    this.#flushes = new PeriodicTask({
      run: () => this.flush(),
      intervalMs: SAMPLE_INTERVAL_MS,
      onError: (error) => options.log.error({ err: error }, 'writing usage failed'),
    });
    this.#flushes.start(SAMPLE_INTERVAL_MS);
  }

  /** `hasQueue`: its queue depth is read with every flush. */
  of(namespace: string, name: string, hasQueue = false): DeploymentUsage {
    const key = `${namespace}/${name}`;
    const known = this.#entries.get(key);
    if (known) {
      known.isLeft = false;
      return known.usage;
    }
    const writer = new UsageWriter({ ...this.#options, namespace, deployment: name });
    const entry: Entry = {
      namespace,
      name,
      usage: new DeploymentUsage(),
      writer,
      hasQueue,
      isLeft: false,
      latenciesAt: null,
      cutMinute: 0,
      late: null,
    };
    this.#entries.set(key, entry);
    return entry.usage;
  }

  /** A deployment is no longer served here: after the next flush that succeeds, nothing of it is kept. */
  leave(namespace: string, name: string): void {
    const entry = this.#entries.get(`${namespace}/${name}`);
    if (entry) entry.isLeft = true;
  }

  /** Writes what was collected. While Redis is away, it stays for a later flush. */
  async flush({ isLast = false } = {}): Promise<void> {
    await Promise.all([...this.#entries.values()].map((entry) => this.#flush(entry, isLast)));
  }

  async #flush(entry: Entry, isLast: boolean): Promise<void> {
    // What is left meanwhile has latencies that are not cut yet.
    const { isLeft } = entry;
    await entry.writer.write(() => this.#cut(entry, isLast || isLeft));
    await this.#writeUses(entry);
    await this.#writeRecent(entry);
    if (isLeft && entry.isLeft && entry.writer.isEmpty && entry.usage.sums.size === 0)
      this.#entries.delete(`${entry.namespace}/${entry.name}`);
  }

  async close(): Promise<void> {
    await this.#flushes.stop();
    await this.flush({ isLast: true });
  }

  /** Returns the hashes of each batch. */
  async #cut(entry: Entry, isLast: boolean): Promise<HashCounts[][]> {
    await this.#sampleQueue(entry);
    const { namespace, name: deployment, usage } = entry;
    const place = { namespace, deployment, at: (this.#options.clock ?? systemClock).date().getTime() };
    const [first = [], ...others] = [...listKeyUsage({ ...place, used: usage.keys })].map((each) => [each]);
    const { sums } = usage;
    const batches = [[...listUsage({ ...place, sums }), ...first], ...others];
    sums.clear();
    usage.keys.clear();
    return [...batches, ...this.#cutLatencies(entry, place, isLast)];
  }

  /** Once a minute, for the minute in which they were seen; the first after a pause at once, for those who look. */
  #cutLatencies(entry: Entry, place: Place, isLast: boolean): HashCounts[][] {
    const { latencies } = entry.usage;
    const batches: HashCounts[][] = [];
    if (!latencies.whole.isEmpty) entry.latenciesAt ??= place.at;
    const at = entry.latenciesAt;
    const minute = countMinutes(place.at);
    const isAtOnce = isLast || minute - entry.cutMinute > 1;
    const isCut = at !== null && (isAtOnce || minute !== countMinutes(at));
    if (entry.late && (isLast || isCut || entry.late.flushes-- === 0)) {
      batches.push(entry.late.hashes);
      entry.late = null;
    }
    if (!isCut) return batches;
    const seen = place.at - at > MAX_LATE_MS ? place.at : at;
    const hashes = listUsage({ ...place, at: seen, sums: NO_SUMS, latencies });
    for (const sketch of Object.values(latencies)) sketch.clear();
    entry.latenciesAt = null;
    entry.cutMinute = minute;
    if (isAtOnce) batches.push(hashes);
    else entry.late = { hashes, flushes: Math.floor((this.#options.random ?? Math.random)() * MAX_DELAY) };
    return batches;
  }

  async #sampleQueue({ namespace, name, usage, hasQueue }: Entry): Promise<void> {
    const { redis, log, metrics } = this.#options;
    try {
      const sample = hasQueue ? await sampleQueueDepth(redis, namespace, name) : null;
      if (!sample) return;
      metrics?.queues.note({ namespace, name }, sample);
      for (const [counter, amount] of countSample(sample)) usage.sums.set(counter, amount);
    } catch (error) {
      if (!isRedisAway(error)) log.error({ err: error, namespace, name }, 'sampling the queue failed');
    }
  }

  async #writeRecent({ namespace, name: deployment, usage }: Entry): Promise<void> {
    const { redis, log } = this.#options;
    const requests = usage.recent.take();
    if (requests.length === 0) return;
    try {
      await noteRequests(redis, { namespace, deployment }, requests);
    } catch (error) {
      if (!isRedisAway(error))
        log.error({ err: error, namespace, name: deployment }, 'noting requests failed');
    }
  }

  async #writeUses({ namespace, name, usage }: Entry): Promise<void> {
    const { redis, log } = this.#options;
    const uses = usage.keyUses.take(Date.now());
    try {
      await writeKeyUses(redis, namespace, uses);
    } catch (error) {
      if (isRedisAway(error)) usage.keyUses.restore(uses);
      else log.error({ err: error, namespace, name }, 'writing uses of keys failed');
    }
  }
}
