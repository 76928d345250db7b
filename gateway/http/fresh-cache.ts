/** Values that are read anew after a short time, and kept beyond it while they cannot be. Bounded. */

export interface FreshCacheOptions<V> {
  load: (key: string) => Promise<V>;
  ttlMs: number;
  /** The longest unused go first. */
  maxEntries: number;
}

interface Entry<V> {
  value: V;
  freshUntil: number;
}

export class FreshCache<V> {
  readonly #options: FreshCacheOptions<V>;
  readonly #entries = new Map<string, Entry<V>>();
  readonly #loading = new Map<string, Promise<V>>();
  #generation = 0;

  constructor(options: FreshCacheOptions<V>) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** A fresh value; a stale one if it cannot be loaded; throws the loader's error when there is none. */
  get(key: string): V | Promise<V> {
    const entry = this.#entries.get(key);
    if (!entry || entry.freshUntil <= performance.now()) return this.#reload(key);
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  /** Everything is read anew when next asked for. */
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
      // What was read before a notification may be what it was about.
      const isFresh = generation === this.#generation;
      this.#store(key, { value, freshUntil: isFresh ? performance.now() + this.#options.ttlMs : 0 });
      return value;
    } catch (error) {
      const known = this.#entries.get(key);
      if (known) return known.value;
      throw error;
    }
  }

  #store(key: string, entry: Entry<V>): void {
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    if (this.#entries.size <= this.#options.maxEntries) return;
    const oldest = this.#entries.keys().next().value;
    if (oldest !== undefined) this.#entries.delete(oldest);
  }
}
