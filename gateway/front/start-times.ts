/** Estimates how long deployments take to start, from the last start that a front observed. */
import { LRUCache } from 'lru-cache';
import type { KnownDeployment } from './directory.ts';

interface Start {
  /** By performance.now(); null while there are replicas. */
  since: number | null;
  /** Of the last start; null before the first. */
  lastMs: number | null;
}

const MAX_REMEMBERED = 10_000;
const MIN_RETRY_SECONDS = 5;
/** Longer waits no SDK makes by itself. */
const MAX_RETRY_SECONDS = 60;

export class StartTimes {
  readonly #starts = new LRUCache<string, Start>({ max: MAX_REMEMBERED });
  readonly #clock: () => number;

  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock;
  }

  /** Whole seconds until its replicas are likely to be ready; undefined while some are, or nothing is known. */
  observe({ config, addresses }: Pick<KnownDeployment, 'config' | 'addresses'>): number | undefined {
    const isStarting = addresses.length === 0 && !config.paused && !config.deleting && config.replicas !== 0;
    const key = `${config.namespace}/${config.name}`;
    const known = this.#starts.get(key);
    if (!isStarting) {
      if (known && known.since !== null) this.#end(known, addresses.length > 0);
      return undefined;
    }
    const start = known ?? this.#remember(key);
    start.since ??= this.#clock();
    if (start.lastMs === null) return undefined;
    const leftSeconds = Math.ceil((start.lastMs - (this.#clock() - start.since)) / 1_000);
    return Math.min(MAX_RETRY_SECONDS, Math.max(MIN_RETRY_SECONDS, leftSeconds));
  }

  #end(start: Start, isReady: boolean): void {
    if (isReady) start.lastMs = this.#clock() - start.since!;
    start.since = null;
  }

  #remember(key: string): Start {
    const start = { since: null, lastMs: null };
    this.#starts.set(key, start);
    return start;
  }
}
