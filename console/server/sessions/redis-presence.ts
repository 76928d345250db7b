/** Tracks whether Redis is available, from the results of reads. */
import { isRedisAway } from '../../../redis/client.ts';

/** Retry interval while it is unavailable: each attempt may take a command's whole timeout. */
const RETRY_INTERVAL_MS = 2_000;

export class RedisPresence {
  readonly #clock: () => number;
  #awaySince: number | null = null;
  #triedAt = 0;

  constructor(clock: () => number = Date.now) {
    this.#clock = clock;
  }

  /** Unix milliseconds; null while it is available. */
  get awaySince(): number | null {
    return this.#awaySince;
  }

  /** Returns the result of `read`, or `fallback` while Redis is unavailable. Throws all other errors. */
  async read<T, F>(read: () => Promise<T>, fallback: F): Promise<T | F> {
    if (this.#awaySince !== null && this.#clock() - this.#triedAt < RETRY_INTERVAL_MS) return fallback;
    this.#triedAt = this.#clock();
    try {
      const found = await read();
      this.#awaySince = null;
      return found;
    } catch (error) {
      if (!isRedisAway(error)) throw error;
      this.#awaySince ??= this.#clock();
      return fallback;
    }
  }
}
