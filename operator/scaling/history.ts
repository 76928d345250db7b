/** Remembers in Redis how deployments are scaled: where something is another, once a minute at most, and each change. */
import type { ScalingEntry, ScalingPoint } from '../../redis/demand/scaling-history.ts';
import type { WrittenChange } from './replica-writer.ts';
import type { ScalingSample } from './scaler.ts';

/** Between two points of a deployment, unless its replicas are others. */
const INTERVAL_MS = 60_000;
/** Replicas may come and go again and again. */
const MIN_INTERVAL_MS = 10_000;
/** Where nothing changes at all: the history must not expire meanwhile. */
const RENEW_MS = 3_600_000;
/** What waits to be written; the oldest are lost then. */
const MAX_PENDING = 5_000;
const MAX_BATCH = 500;

type State = Omit<ScalingPoint, 'change'>;

export interface ScalingHistoryOptions {
  append: (entries: readonly ScalingEntry[]) => Promise<void>;
  /** Unix milliseconds. */
  now: () => number;
}

export class ScalingHistory {
  readonly #options: ScalingHistoryOptions;
  /** By key: the last point. */
  readonly #last = new Map<string, State>();
  #pending: ScalingEntry[] = [];

  constructor(options: ScalingHistoryOptions) {
    this.#options = options;
  }

  /** Takes how all that are scaled stand now. */
  observe(samples: readonly ScalingSample[]): void {
    const at = this.#options.now();
    const keys = new Set<string>();
    for (const { namespace, name, demand, wanted, ready } of samples) {
      const key = `${namespace}/${name}`;
      keys.add(key);
      const state = { at, demand: Math.round(demand * 10) / 10, wanted, ready };
      const last = this.#last.get(key);
      // Of one that rests nothing is to be begun.
      const isContinuation = demand + wanted + ready === 0;
      if (isDue(last, state)) this.#add(key, state, { isContinuation });
    }
    for (const key of [...this.#last.keys()].filter((key) => !keys.has(key))) {
      this.#add(key, { at, demand: 0, wanted: 0, ready: 0 }, { isContinuation: true });
      this.#last.delete(key);
    }
  }

  /** Takes another number of replicas that was written. */
  note(key: string, { from, to, reason }: WrittenChange): void {
    const { demand = 0, ready = 0 } = this.#last.get(key) ?? {};
    this.#add(key, { at: this.#options.now(), demand, wanted: to, ready, change: { from, reason } });
  }

  /** Writes what was taken, in several calls where it is much. Throws while Redis is away: it is kept for the next time. */
  async flush(): Promise<void> {
    const batch = this.#pending.splice(0, MAX_BATCH);
    try {
      await this.#options.append(batch);
    } catch (error) {
      this.#pending = [...batch, ...this.#pending].slice(-MAX_PENDING);
      throw error;
    }
  }

  #add(key: string, point: ScalingPoint, more: { isContinuation?: boolean } = {}): void {
    const [namespace = '', name = ''] = key.split('/');
    this.#last.set(key, point);
    this.#pending.push({ namespace, name, point, ...more });
    if (this.#pending.length > MAX_PENDING) this.#pending.shift();
  }
}

function isDue(last: State | undefined, { at, demand, wanted, ready }: State): boolean {
  if (last === undefined) return true;
  const elapsedMs = at - last.at;
  if (last.wanted !== wanted || last.ready !== ready) return elapsedMs >= MIN_INTERVAL_MS;
  if (last.demand !== demand) return elapsedMs >= INTERVAL_MS;
  // One that rests is to be forgotten.
  return elapsedMs >= RENEW_MS && demand + wanted + ready > 0;
}
