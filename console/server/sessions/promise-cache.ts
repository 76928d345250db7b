/** Answers that may be used again for a while; questions under way are asked once. */

export interface PromiseCacheOptions {
  ttlMs: number;
  /** The oldest give way. */
  maxEntries: number;
  clock?: () => number;
}

export class PromiseCache<T> {
  readonly #options: PromiseCacheOptions;
  readonly #entries = new Map<string, { answer: Promise<T>; staleAt: number }>();

  constructor(options: PromiseCacheOptions) {
    this.#options = options;
  }

  /** A question that fails is not kept. */
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

  forget(key: string): void {
    this.#entries.delete(key);
  }
}
