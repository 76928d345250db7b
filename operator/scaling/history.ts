/** Records deployments' scaling in Redis: points if something differs, at most once a minute, and each change. */
import { isRedisAway } from '../../redis/client.ts';
import type { ScalingEntry, ScalingPoint } from '../../redis/demand/scaling-history.ts';
import type { WrittenChange } from './replica-writer.ts';
import type { ScalingSample } from './scaled-deployments.ts';

/** Between two points of a deployment, unless its replicas changed. */
const INTERVAL_MS = 60_000;
/** Replicas may come and go again and again. */
const MIN_INTERVAL_MS = 10_000;
/** If nothing changes: the history must not expire meanwhile. */
const RENEW_MS = 3_600_000;
/** Maximum of pending writes; beyond it the oldest are lost. */
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

  /** Records the current state of all scaled deployments. */
  observe(samples: readonly ScalingSample[]): void {
    const at = this.#options.now();
    const keys = new Set<string>();
    for (const { namespace, name, demand, wanted, ready } of samples) {
      const key = `${namespace}/${name}`;
      keys.add(key);
      const state = { at, demand: Math.round(demand * 10) / 10, wanted, ready };
      const last = this.#last.get(key);
      // An idle one starts no history.
      const isContinuation = demand + wanted + ready === 0;
      if (isDue(last, state)) this.#add(key, state, { isContinuation });
    }
    for (const key of [...this.#last.keys()].filter((key) => !keys.has(key))) {
      this.#add(key, { at, demand: 0, wanted: 0, ready: 0 }, { isContinuation: true });
      this.#last.delete(key);
    }
  }

  /** Records a change of replicas. */
  note(key: string, { from, to, reason }: WrittenChange): void {
    const { demand = 0, ready = 0 } = this.#last.get(key) ?? {};
    this.#add(key, { at: this.#options.now(), demand, wanted: to, ready, change: { from, reason } });
  }

  /** Writes pending records, in several calls if there are many. Throws while Redis is down: they are kept for the next time, unless it refused any. */
  async flush(): Promise<void> {
    const batch = this.#pending.splice(0, MAX_BATCH);
    try {
      await this.#options.append(batch);
    } catch (error) {
      if (isRedisAway(error)) this.#pending = [...batch, ...this.#pending].slice(-MAX_PENDING);
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
  // Forget idle ones.
  return elapsedMs >= RENEW_MS && demand + wanted + ready > 0;
}
