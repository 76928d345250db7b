/** Cached values that are reloaded after a short time, and served stale while that fails. */
import { LRUCache } from 'lru-cache';

export interface FreshCacheOptions<V> {
  load: (key: string) => Promise<V>;
  ttlMs: number;
  /** LRU eviction. */
  maxEntries: number;
  /** A known value is served at once while it is reloaded, whatever its age. */
  servesStale?: boolean;
}

interface Entry<V> {
  value: V;
  freshUntil: number;
}

export class FreshCache<V> {
  readonly #options: FreshCacheOptions<V>;
  readonly #entries: LRUCache<string, Entry<V>>;
  readonly #loading = new Map<string, Promise<V>>();
  #generation = 0;

  constructor(options: FreshCacheOptions<V>) {
    this.#options = options;
    this.#entries = new LRUCache({ max: options.maxEntries });
  }

  get size(): number {
    return this.#entries.size;
  }

  /** A fresh value, or a stale one if loading fails; throws the loader's error if there is none. */
  get(key: string): V | Promise<V> {
    const entry = this.#entries.get(key);
    if (entry && entry.freshUntil > performance.now()) return entry.value;
    const loading = this.#reload(key);
    if (!entry || !this.#options.servesStale) return loading;
    // It may have been evicted meanwhile.
    loading.catch(() => {});
    return entry.value;
  }

  /** Everything is reloaded on its next read. */
  expireAll(): void {
    this.#generation++;
    this.#loading.clear();
    for (const entry of this.#entries.values()) entry.freshUntil = 0;
  }

  #reload(key: string): Promise<V> {
    const running = this.#loading.get(key);
    if (running) return running;
    const loading = this.#load(key).finally(() => {
      if (this.#loading.get(key) === loading) this.#loading.delete(key);
    });
    this.#loading.set(key, loading);
    return loading;
  }

  async #load(key: string): Promise<V> {
    const generation = this.#generation;
    try {
      const value = await this.#options.load(key);
      // A value read before a notification may be the outdated one.
      const isFresh = generation === this.#generation;
      this.#entries.set(key, { value, freshUntil: isFresh ? performance.now() + this.#options.ttlMs : 0 });
      return value;
    } catch (error) {
      const known = this.#entries.get(key);
      if (known) return known.value;
      throw error;
    }
  }
}
