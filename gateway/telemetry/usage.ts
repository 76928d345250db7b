/** Deployments' usage, for the console's charts: aggregated in memory, written every few seconds. */
import { PeriodicTask } from '../../kit/periodic-task.ts';
import { isRedisAway, type RedisClient } from '../../redis/client.ts';
import { countSample, SAMPLE_INTERVAL_MS, sampleQueueDepth } from '../../redis/requests/queue-depth.ts';
import { addKeyUsage, HASH_DIGITS, type KeyUsage } from '../../redis/usage/key-usage.ts';
import { writeKeyUses } from '../../redis/usage/key-uses.ts';
import { findBucket, findFirstTokenBucket } from '../../redis/usage/latency-buckets.ts';
import { addUsage, type UsageEntry } from '../../redis/usage/usage.ts';
import { KeyUses } from './key-uses.ts';
import type { Logger } from './log.ts';
import type { QueueGauges } from './queue-gauges.ts';

const ACCEPTED = 202;
/** Anthropic's status for a full deployment (429 elsewhere). */
const OVERLOADED = 529;

export interface UsageMeterOptions {
  redis: RedisClient;
  log: Logger;
  /** Called with queue samples. */
  queues?: QueueGauges;
}

/** One deployment's sums not written yet. */
export class DeploymentUsage {
  readonly sums = new Map<UsageEntry, number>();
  /** By the first digits of the keys' SHA-256. */
  readonly keys = new Map<string, KeyUsage>();
  readonly keyUses = new KeyUses();

  add(entry: UsageEntry, amount = 1): void {
    this.sums.set(entry, (this.sums.get(entry) ?? 0) + amount);
  }

  /** Charges of a key. */
  addOfKey(sha256: string, used: KeyUsage): void {
    const keyHash = sha256.slice(0, HASH_DIGITS);
    const sum = this.keys.get(keyHash);
    if (!sum) this.keys.set(keyHash, { ...used });
    else {
      sum.requests += used.requests;
      sum.inputTokens += used.inputTokens;
      sum.outputTokens += used.outputTokens;
      sum.micros += used.micros;
    }
  }

  /** A finished request: `status` is HTTP's, 499 if the client disconnected; `firstTokenMs` of a stream. */
  countRequest(status: number, milliseconds: number, firstTokenMs: number | null = null): void {
    this.add('requests');
    if (status === 429 || status === OVERLOADED) this.add('rateLimited');
    else if (status >= 500) this.add('serverErrors');
    else if (status >= 400) this.add('clientErrors');
    // Queued requests are timed when a worker ends them.
    else if (status !== ACCEPTED) {
      this.observe(milliseconds);
      if (firstTokenMs !== null) this.add(findFirstTokenBucket(firstTokenMs));
    }
  }

  observe(milliseconds: number): void {
    this.add(findBucket(milliseconds));
  }
}

interface Entry {
  namespace: string;
  name: string;
  usage: DeploymentUsage;
  hasQueue: boolean;
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
    if (known) return known.usage;
    const entry = { namespace, name, usage: new DeploymentUsage(), hasQueue };
    this.#entries.set(key, entry);
    return entry.usage;
  }

  /** Writes what was collected; what Redis does not accept stays for the next flush. */
  async flush(): Promise<void> {
    await Promise.all([...this.#entries.values()].map((entry) => this.#write(entry)));
  }

  async close(): Promise<void> {
    await this.#flushes.stop();
    await this.flush();
  }

  async #write({ namespace, name, usage, hasQueue }: Entry): Promise<void> {
    const { redis, log, queues } = this.#options;
    const sums = new Map(usage.sums);
    usage.sums.clear();
    await this.#writeKeys({ namespace, name, usage });
    await this.#writeUses({ namespace, name, usage });
    try {
      const sample = hasQueue ? await sampleQueueDepth(redis, namespace, name) : null;
      if (sample) {
        queues?.note({ namespace, name }, sample);
        for (const [counter, amount] of countSample(sample)) sums.set(counter, amount);
      }
      await addUsage(redis, { namespace, deployment: name, at: Date.now(), sums });
    } catch (error) {
      sums.delete('queueSamples');
      sums.delete('queuePeak');
      for (const [counter, amount] of sums) usage.add(counter, amount);
      if (!isRedisAway(error)) log.error({ err: error, namespace, name }, 'writing usage failed');
    }
  }

  async #writeKeys({ namespace, name, usage }: Pick<Entry, 'namespace' | 'name' | 'usage'>): Promise<void> {
    const { redis, log } = this.#options;
    const used = new Map(usage.keys);
    usage.keys.clear();
    try {
      await addKeyUsage(redis, { namespace, deployment: name, at: Date.now(), used });
    } catch (error) {
      for (const [keyHash, sums] of used) usage.addOfKey(keyHash, sums);
      if (!isRedisAway(error)) log.error({ err: error, namespace, name }, 'writing usage of keys failed');
    }
  }

  async #writeUses({ namespace, name, usage }: Pick<Entry, 'namespace' | 'name' | 'usage'>): Promise<void> {
    const { redis, log } = this.#options;
    const uses = usage.keyUses.take(Date.now());
    try {
      await writeKeyUses(redis, namespace, uses);
    } catch (error) {
      usage.keyUses.restore(uses);
      if (!isRedisAway(error)) log.error({ err: error, namespace, name }, 'writing uses of keys failed');
    }
  }
}
