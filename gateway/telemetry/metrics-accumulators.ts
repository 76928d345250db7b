/** Counters for every request: an array index each, where prom-client would hash the labels each time. */
import { Counter, type Registry } from 'prom-client';

export interface Tally {
  /** Adds to the series with these label values, in the order of the names. */
  add(amount: number, first: string, second?: string | number): void;
}

export interface Histogram {
  observe(label: string, seconds: number): void;
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

interface HistogramOptions {
  name: string;
  help: string;
  label: string;
  /** Upper bounds in seconds, rising. */
  bounds: number[];
}

export function createHistogram(register: Registry, options: HistogramOptions): Histogram {
  const { name, help, label, bounds } = options;
  const series = new Map<string, { counts: number[]; sum: number }>();
  const list = () =>
    [...series].flatMap(([value, { counts, sum }]) => {
      const labels = { [label]: value };
      let total = 0;
      const buckets = counts.map((count, index) => {
        total += count;
        return {
          metricName: `${name}_bucket`,
          labels: { ...labels, le: bounds[index] ?? '+Inf' },
          value: total,
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
  return {
    observe(value, seconds) {
      let entry = series.get(value);
      if (!entry) {
        entry = { counts: new Array(bounds.length + 1).fill(0), sum: 0 };
        series.set(value, entry);
      }
      let index = 0;
      while (index < bounds.length && seconds > bounds[index]!) index++;
      entry.counts[index]!++;
      entry.sum += seconds;
    },
  };
}
