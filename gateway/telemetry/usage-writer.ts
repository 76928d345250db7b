/** One deployment's usage on its way to Redis: batch by batch, each added once, whatever becomes of the reply. */
import { randomUUID } from 'node:crypto';
import { isRedisAway, type RedisClient } from '../../redis/client.ts';
import { isCount } from '../../redis/untrusted-values.ts';
import { coarsenLatencies } from '../../redis/usage/earlier-latency-buckets.ts';
import { addBatch, type HashCounts, REMEMBERED_MS, type UsageBatch } from '../../redis/usage/usage-batch.ts';
import type { Logger } from './log.ts';
import type { GatewayMetrics } from './metrics.ts';

export interface UsageWriterOptions {
  redis: RedisClient;
  namespace: string;
  deployment: string;
  log: Logger;
  metrics?: Pick<GatewayMetrics, 'usageLost'> | undefined;
  /** Unix milliseconds. */
  now?: () => number;
}

/** Sooner than Redis forgets a batch, which could then be added twice. */
const GIVE_UP_MS = REMEMBERED_MS - 3_600_000;
/** As functions of earlier versions refuse sketches. */
const REFUSAL = 'A count is not a whole number';
const COARSE_MS = 3_600_000;

export class UsageWriter {
  readonly #options: UsageWriterOptions;
  readonly #writer = randomUUID();
  /** In order. The first may have been added although no reply came. */
  #batches: { batch: UsageBatch; since: number }[] = [];
  #number = 0;
  /** Unix milliseconds: until then, latencies are sent as earlier versions count them. */
  #coarseUntil = 0;
  #run: Promise<void> = Promise.resolve();

  constructor(options: UsageWriterOptions) {
    this.#options = options;
  }

  /** All was sent. */
  get isEmpty(): boolean {
    return this.#batches.length === 0;
  }

  /** Sends what is left, then what `cut` returns: the hashes of each batch. It is not called while Redis is away. */
  write(cut: () => Promise<HashCounts[][]>): Promise<void> {
    const run = this.#run.then(async () => {
      if (!(await this.#send())) return;
      for (const hashes of await cut()) this.#add(hashes);
      await this.#send();
    });
    // The caller gets the error: it must not end all later writes.
    this.#run = run.catch(() => {});
    return run;
  }

  #add(hashes: HashCounts[]): void {
    const { namespace, deployment, now = Date.now } = this.#options;
    const id = { writer: this.#writer, number: ++this.#number };
    const since = now();
    const valid = this.#dropInvalid(hashes);
    const sent = since < this.#coarseUntil ? valid.map(coarsenLatencies) : valid;
    this.#batches.push({ batch: { namespace, deployment, id, hashes: sent }, since });
  }

  /** Redis would refuse the batch for one of them. */
  #dropInvalid(hashes: HashCounts[]): HashCounts[] {
    const invalid = hashes.flatMap(({ counts }) => counts).filter(([, amount]) => !isCount(amount));
    if (invalid.length === 0) return hashes;
    this.#lose('invalid', `not a whole number: ${invalid.map(([field]) => field).join(', ')}`);
    return hashes.map((hash) => ({ ...hash, counts: hash.counts.filter(([, amount]) => isCount(amount)) }));
  }

  /** False: Redis is away, and some are left. */
  async #send(): Promise<boolean> {
    const { redis, now = Date.now } = this.#options;
    for (let next = this.#batches[0]; next; next = this.#batches[0]) {
      try {
        await addBatch(redis, next.batch);
      } catch (error) {
        const isLate = now() - next.since > GIVE_UP_MS;
        if (isRedisAway(error) && !isLate) return false;
        const why = (error as Error).message;
        if (!isLate && this.#coarsen(next.batch, why)) continue;
        // Another attempt would be refused as well, and count again what was added since.
        this.#lose(isLate ? 'late' : 'refused', why);
      }
      this.#batches.shift();
    }
    return true;
  }

  /** After a rollback, Redis has the functions of an earlier version. False: something else was refused. */
  #coarsen(refused: UsageBatch, why: string): boolean {
    const { namespace, deployment: name, log, now = Date.now } = this.#options;
    if (!why.includes(REFUSAL) || !refused.hashes.some(({ sketches = [] }) => sketches.length > 0))
      return false;
    this.#coarseUntil = now() + COARSE_MS;
    for (const sent of this.#batches)
      sent.batch = { ...sent.batch, hashes: sent.batch.hashes.map(coarsenLatencies) };
    log.warn({ namespace, name, reason: why }, 'latencies are counted coarsely for an hour');
    return true;
  }

  #lose(reason: 'invalid' | 'late' | 'refused', why: string): void {
    const { namespace, deployment: name, log, metrics } = this.#options;
    metrics?.usageLost.inc({ reason });
    log.error({ namespace, name, reason: why }, 'usage was not counted');
  }
}
