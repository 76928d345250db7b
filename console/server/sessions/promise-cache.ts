/** Cache with a TTL; concurrent loads of the same key are shared. */

export interface PromiseCacheOptions {
  ttlMs: number;
  /** The oldest entries are evicted. */
  maxEntries: number;
  clock?: () => number;
}

export class PromiseCache<T> {
  readonly #options: PromiseCacheOptions;
  readonly #entries = new Map<string, { answer: Promise<T>; staleAt: number }>();

  constructor(options: PromiseCacheOptions) {
    this.#options = options;
  }

  /** Failures are not cached. */
  get(key: string, ask: () => Promise<T>): Promise<T> {
    const { ttlMs, maxEntries, clock = Date.now } = this.#options;
    const present = this.#entries.get(key);
    if (present && present.staleAt > clock()) return present.answer;
    const answer = ask();
    const entry = { answer, staleAt: clock() + ttlMs };
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    answer.catch(() => {
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
    });
    if (this.#entries.size > maxEntries) this.#entries.delete(this.#entries.keys().next().value!);
    return answer;
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }
}
