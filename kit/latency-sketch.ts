/**
 * How latencies are distributed: a DDSketch, whose buckets grow by 6 %, so that a quantile is off by 3 % at most (decision
 * 0375). As text, which Redis merges (`redis/functions/usage.lua`): the maximum, the counts of buckets, and the values
 * themselves while they are few.
 */

const FACTOR = 1.06;
const GROWTH = Math.log(FACTOR);
/** The share of a bucket's upper bound from which both bounds are off by the same share. */
const MIDDLE = 2 / (FACTOR + 1);
/** Redis holds them, too. */
export const SKETCH_LIMITS = {
  /** A sketch: all of its buckets with the largest counts. */
  MAX_SKETCH_BYTES: 6 * 1024,
  /** With the first, of times below 1 ms, they reach 30 minutes. */
  SKETCH_BUCKETS: 249,
  /** From so many on, a sketch has no values. */
  EXACT_LATENCIES: 20,
} as const;
const { EXACT_LATENCIES, MAX_SKETCH_BYTES, SKETCH_BUCKETS } = SKETCH_LIMITS;
/** Also of longer times. The first is of times below 1 ms, which are shown as 0. */
const LAST_BUCKET = SKETCH_BUCKETS - 1;
const TEXT = /^(\d{1,16});([\d=,]*);([\d,]*)$/;
const ZERO = 48;
const EQUALS = 61;

const upperOf = (bucket: number): number => Math.exp(bucket * GROWTH);
const findBucket = (ms: number): number =>
  ms >= 1 ? Math.min(LAST_BUCKET, Math.floor(Math.log(ms) / GROWTH) + 1) : 0;

/** In milliseconds. Longer times than the last bucket's are known by their maximum alone. */
function middleOf(bucket: number): number {
  if (bucket === 0) return 0;
  return bucket === LAST_BUCKET ? Number.POSITIVE_INFINITY : upperOf(bucket) * MIDDLE;
}

export class LatencySketch {
  /** By bucket. Allocated with the first time, since most deployments and steps have none. */
  #counts: Float64Array | undefined;
  /** Microseconds, of which the first `#exact` count: all times, while there are fewer than 20. */
  readonly #values: number[] = [];
  #exact = 0;
  #total = 0;
  #maxMicros = 0;

  get isEmpty(): boolean {
    return this.#total === 0;
  }

  /** Each request does this: it allocates nothing after the first 20 times, also when it is cleared. */
  observe(ms: number): void {
    const micros = ms > 0 ? Math.min(Math.round(ms * 1_000), Number.MAX_SAFE_INTEGER) : 0;
    this.#count(findBucket(ms), 1);
    if (micros > this.#maxMicros) this.#maxMicros = micros;
    if (this.#total < EXACT_LATENCIES) this.#values[this.#exact++] = micros;
  }

  /** Adds a sketch's text. Another text adds nothing: a workspace's own Redis user may have written it. */
  merge(text: string): void {
    const [, max, counts, values] = (text.length <= MAX_SKETCH_BYTES && TEXT.exec(text)) || [];
    if (max === undefined) return;
    const before = this.#total;
    this.#readCounts(counts!);
    this.#maxMicros = Math.max(this.#maxMicros, Number(max));
    if (!values || this.#total >= EXACT_LATENCIES) return;
    const all = values.split(',', EXACT_LATENCIES);
    // Others are not the times that were counted, and may be any number.
    if (all.length === this.#total - before)
      for (const value of all) this.#values[this.#exact++] = Number(value);
  }

  /** Adds another's times. */
  add(other: LatencySketch): void {
    other.#counts?.forEach((count, bucket) => {
      if (count > 0) this.#count(bucket, count);
    });
    this.#maxMicros = Math.max(this.#maxMicros, other.#maxMicros);
    if (this.#total < EXACT_LATENCIES)
      for (let i = 0; i < other.#exact; i++) this.#values[this.#exact++] = other.#values[i]!;
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
    const isExact = this.#total < EXACT_LATENCIES && this.#exact === this.#total;
    const micros = isExact ? this.#findValue(share) : this.#estimate(share);
    return Math.round(Math.min(micros, this.#maxMicros) / 10) / 100;
  }

  /** Ascending: about which time, and how often. */
  *times(): Generator<[ms: number, count: number]> {
    for (const [bucket, count] of this.#counts?.entries() ?? [])
      if (count > 0) yield [middleOf(bucket), count];
  }

  clear(): void {
    this.#counts?.fill(0);
    this.#exact = 0;
    this.#total = 0;
    this.#maxMicros = 0;
  }

  toString(): string {
    const counts: string[] = [];
    this.#counts?.forEach((count, bucket) => {
      if (count > 0) counts.push(`${bucket}=${count}`);
    });
    const values = this.#total < EXACT_LATENCIES ? this.#values.slice(0, this.#exact).join(',') : '';
    return `${this.#maxMicros};${counts.join(',')};${values}`;
  }

  #count(bucket: number, count: number): void {
    this.#counts ??= new Float64Array(SKETCH_BUCKETS);
    this.#counts[bucket]! += count;
    this.#total += count;
  }

  /** In one pass, without splitting: a page of the console may read tens of thousands of texts. */
  #readCounts(text: string): void {
    let bucket = Number.NaN;
    let number = 0;
    for (let i = 0; i <= text.length; i++) {
      const code = text.charCodeAt(i);
      if (code === EQUALS) {
        bucket = number;
        number = 0;
      } else if (code >= ZERO) number = number * 10 + code - ZERO;
      else {
        if (bucket <= LAST_BUCKET && number <= Number.MAX_SAFE_INTEGER) this.#count(bucket, number);
        bucket = Number.NaN;
        number = 0;
      }
    }
  }

  #findValue(share: number): number {
    const values = this.#values.slice(0, this.#exact).sort((a, b) => a - b);
    return values[Math.max(0, Math.ceil(share * values.length) - 1)]!;
  }

  /** In microseconds: the middle of the bucket that holds it. */
  #estimate(share: number): number {
    const rank = share * this.#total;
    let below = 0;
    for (const [ms, count] of this.times()) {
      below += count;
      if (below >= rank) return ms * 1_000;
    }
    return Number.POSITIVE_INFINITY;
  }
}
