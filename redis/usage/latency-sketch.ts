/**
 * How latencies are distributed: a DDSketch, whose buckets grow by 6 %, so that a quantile is off by 3 % at most (decision
 * 0375). As text, which Redis merges (`redis/functions/usage.lua`): the maximum, the counts of buckets, and the values
 * themselves while they are few.
 */
import { LIMITS } from '../function-table.ts';

const FACTOR = 1.06;
const GROWTH = Math.log(FACTOR);
/** Of a bucket's upper bound: from there, both bounds are off by the same share. */
const MIDDLE = 2 / (FACTOR + 1);
const MAX_MS = 1_800_000;
/** Also of longer times. The first is of times below 1 ms, which are shown as 0. */
const LAST_BUCKET = Math.floor(Math.log(MAX_MS) / GROWTH) + 1;
const TEXT = /^(\d{1,16});([\d=,]*);([\d,]*)$/;

const upperOf = (bucket: number): number => Math.exp(bucket * GROWTH);
const findBucket = (ms: number): number =>
  ms >= 1 ? Math.min(LAST_BUCKET, Math.floor(Math.log(ms) / GROWTH) + 1) : 0;

export class LatencySketch {
  /** By bucket. Allocated with the first time, since most deployments and steps have none. */
  #counts: Float64Array | undefined;
  /** Microseconds. Complete if there are fewer than 20 times. */
  readonly #values: number[] = [];
  #total = 0;
  #maxMicros = 0;

  get isEmpty(): boolean {
    return this.#total === 0;
  }

  /** Each request does this: it allocates nothing. */
  observe(ms: number): void {
    const micros = ms > 0 ? Math.min(Math.round(ms * 1_000), Number.MAX_SAFE_INTEGER) : 0;
    this.#count(findBucket(ms), 1);
    if (micros > this.#maxMicros) this.#maxMicros = micros;
    if (this.#total < LIMITS.EXACT_LATENCIES) this.#values.push(micros);
  }

  /** Adds a sketch's text. Another text adds nothing: a workspace's own Redis user may have written it. */
  merge(text: string): void {
    const [, max, counts, values] = (text.length <= LIMITS.MAX_SKETCH_BYTES && TEXT.exec(text)) || [];
    if (max === undefined) return;
    for (const pair of counts!.split(',', LIMITS.MAX_BUCKETS)) {
      const [bucket, count] = pair.split('=').map(Number);
      if (bucket! <= LAST_BUCKET && count! <= Number.MAX_SAFE_INTEGER) this.#count(bucket!, count!);
    }
    this.#maxMicros = Math.max(this.#maxMicros, Number(max));
    if (values && this.#total < LIMITS.EXACT_LATENCIES) this.#values.push(...values.split(',').map(Number));
  }

  /** Counts times that are known to be within bounds, as if they were spread evenly. */
  spread(lowerMs: number, upperMs: number, count: number): void {
    const last = findBucket(upperMs);
    for (let bucket = findBucket(lowerMs); bucket <= last; bucket++) {
      const from = Math.max(lowerMs, bucket === 0 ? 0 : upperOf(bucket - 1));
      const to = bucket === last ? upperMs : upperOf(bucket);
      const share = upperMs === lowerMs ? 1 : (to - from) / (upperMs - lowerMs);
      if (share > 0) this.#count(bucket, count * share);
    }
    this.#maxMicros = Math.max(this.#maxMicros, upperMs * 1_000);
  }

  /** The time in milliseconds that `share` (0–1) of all did not exceed; null without any. */
  quantile(share: number): number | null {
    if (this.#total === 0) return null;
    const isExact = this.#total < LIMITS.EXACT_LATENCIES && this.#values.length === this.#total;
    const micros = isExact ? this.#findValue(share) : this.#estimate(share);
    return Math.round(Math.min(micros, this.#maxMicros) / 10) / 100;
  }

  clear(): void {
    this.#counts?.fill(0);
    this.#values.length = 0;
    this.#total = 0;
    this.#maxMicros = 0;
  }

  toString(): string {
    const counts: string[] = [];
    this.#counts?.forEach((count, bucket) => {
      if (count > 0) counts.push(`${bucket}=${count}`);
    });
    const values = this.#total < LIMITS.EXACT_LATENCIES ? this.#values.join(',') : '';
    return `${this.#maxMicros};${counts.join(',')};${values}`;
  }

  #count(bucket: number, count: number): void {
    this.#counts ??= new Float64Array(LAST_BUCKET + 1);
    this.#counts[bucket]! += count;
    this.#total += count;
  }

  #findValue(share: number): number {
    const values = this.#values.toSorted((a, b) => a - b);
    return values[Math.max(0, Math.ceil(share * values.length) - 1)]!;
  }

  /** In microseconds: the middle of the bucket that holds it. Longer times than the last bucket's are known by their maximum alone. */
  #estimate(share: number): number {
    const rank = share * this.#total;
    let below = 0;
    for (let bucket = 0; bucket < LAST_BUCKET; bucket++) {
      below += this.#counts?.[bucket] ?? 0;
      if (below > 0 && below >= rank) return bucket === 0 ? 0 : upperOf(bucket) * MIDDLE * 1_000;
    }
    return Number.POSITIVE_INFINITY;
  }
}
