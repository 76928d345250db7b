/** Counters for every request: an array index each, since prom-client hashes the labels each time. */
import { Counter, type Registry } from 'prom-client';

export interface Tally {
  /** Adds to the series with these label values, in the order of the names. */
  add(amount: number, first: string, second?: string | number): void;
}

/** A counter without labels. */
export interface Count {
  inc(amount?: number): void;
}

/** `traceId`: shown as the exemplar of its bucket. */
export type Observe = (value: number, traceId?: string) => void;

export interface Histogram {
  observe(label: string, value: number, traceId?: string): void;
  /** One series, created at its first observation; keeping it avoids lookups. */
  bind(label: string): Observe;
}

export function createCount(register: Registry, { name, help }: { name: string; help: string }): Count {
  let sum = 0;
  new Counter<never>({
    name,
    help,
    registers: [register],
    collect() {
      this.reset();
      this.inc(sum);
    },
  });
  return {
    inc(amount = 1) {
      sum += amount;
    },
  };
}

interface TallyOptions {
  name: string;
  help: string;
  labelNames: [string] | [string, string];
}

export function createTally(register: Registry, options: TallyOptions): Tally {
  const { name, help, labelNames } = options;
  const sums = new Map<string, Map<string | number, number>>();
  new Counter<string>({
    name,
    help,
    labelNames,
    registers: [register],
    collect() {
      this.reset();
      for (const [first, seconds] of sums)
        for (const [second, sum] of seconds)
          this.labels(...[first, String(second)].slice(0, labelNames.length)).inc(sum);
    },
  });
  return {
    add(amount, first, second = '') {
      let seconds = sums.get(first);
      if (!seconds) {
        seconds = new Map();
        sums.set(first, seconds);
      }
      seconds.set(second, (seconds.get(second) ?? 0) + amount);
    },
  };
}

/** The latest traced observation of a bucket. */
interface Exemplar {
  labelSet: { trace_id: string };
  value: number;
  /** Unix seconds. */
  timestamp: number;
}

interface Series {
  counts: number[];
  /** By bucket; with holes. */
  exemplars: Exemplar[];
  sum: number;
}

interface HistogramOptions {
  name: string;
  help: string;
  /** Name of the only label; or the labels of a series by the key passed to `observe`. */
  label: string | ((key: string) => Record<string, string>);
  /** Upper bounds, ascending. */
  bounds: number[];
}

export function createHistogram(register: Registry, options: HistogramOptions): Histogram {
  const { name, help, label, bounds } = options;
  const series = new Map<string, Series>();
  const readLabels = typeof label === 'string' ? (value: string) => ({ [label]: value }) : label;
  const list = () =>
    [...series].flatMap(([value, { counts, exemplars, sum }]) => {
      const labels = readLabels(value);
      let total = 0;
      const buckets = counts.map((count, index) => {
        total += count;
        return {
          metricName: `${name}_bucket`,
          labels: { ...labels, le: bounds[index] ?? '+Inf' },
          value: total,
          exemplar: exemplars[index],
        };
      });
      return [
        ...buckets,
        { metricName: `${name}_sum`, labels, value: sum },
        { metricName: `${name}_count`, labels, value: total },
      ];
    });
  const metric = {
    name,
    get: async () => ({ name, help, type: 'histogram', aggregator: 'sum', values: list() }),
  };
  register.registerMetric(metric as unknown as Parameters<Registry['registerMetric']>[0]);
  const find = (value: string): Series => {
    let entry = series.get(value);
    if (!entry) {
      entry = { counts: new Array(bounds.length + 1).fill(0), exemplars: [], sum: 0 };
      series.set(value, entry);
    }
    return entry;
  };
  const add = (entry: Series, amount: number, traceId: string | undefined) => {
    let index = 0;
    while (index < bounds.length && amount > bounds[index]!) index++;
    entry.counts[index]!++;
    entry.sum += amount;
    if (traceId !== undefined)
      entry.exemplars[index] = {
        labelSet: { trace_id: traceId },
        value: amount,
        timestamp: Date.now() / 1_000,
      };
  };
  return {
    observe: (value, amount, traceId) => add(find(value), amount, traceId),
    bind: (value) => {
      let entry: Series | undefined;
      return (amount, traceId) => {
        entry ??= find(value);
        add(entry, amount, traceId);
      };
    },
  };
}
