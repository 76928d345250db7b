/** Cache with a TTL; concurrent loads of the same key are shared. */
import { LRUCache } from 'lru-cache';

export interface PromiseCacheOptions {
  ttlMs: number;
  /** The oldest entries are evicted. */
  maxEntries: number;
  clock?: () => number;
}

export class PromiseCache<T> {
  readonly #options: PromiseCacheOptions;
  readonly #entries: LRUCache<string, { answer: Promise<T>; staleAt: number }>;

  constructor(options: PromiseCacheOptions) {
    this.#options = options;
    this.#entries = new LRUCache({ max: options.maxEntries });
  }

  /** Failures are not cached. */
  get(key: string, ask: () => Promise<T>): Promise<T> {
    const { ttlMs, clock = Date.now } = this.#options;
    const present = this.#entries.get(key);
    if (present && present.staleAt > clock()) return present.answer;
    const answer = ask();
    const entry = { answer, staleAt: clock() + ttlMs };
    this.#entries.set(key, entry);
    answer.catch(() => {
      if (this.#entries.peek(key) === entry) this.#entries.delete(key);
    });
    return answer;
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }
}
