/** Whether the console's Redis answers, by what reads of it come to. */
import { isRedisAway } from '../../../redis/client.ts';

/** While it is away it is asked so often: each attempt may cost a command's whole timeout. */
const RETRY_INTERVAL_MS = 2_000;

export class RedisPresence {
  readonly #clock: () => number;
  #awaySince: number | null = null;
  #triedAt = 0;

  constructor(clock: () => number = Date.now) {
    this.#clock = clock;
  }

  /** Unix milliseconds; null while it answers. */
  get awaySince(): number | null {
    return this.#awaySince;
  }

  /** What `read` finds, or `fallback` while Redis is away. Throws what is no absence. */
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
