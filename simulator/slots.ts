/** Limits concurrent calls; others wait in order of arrival. */

interface Waiter {
  start: () => void;
}

export class Slots {
  #running = 0;
  readonly #waiting = new Set<Waiter>();
  readonly #readLimit: () => number | null;

  /** `readLimit` gives the limit at any time; 0 or null means none. */
  constructor(readLimit: () => number | null) {
    this.#readLimit = readLimit;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Calls `start` once there is room, perhaps at once; returns how to leave the queue. */
  enter(start: () => void): () => void {
    const waiter = { start };
    this.#waiting.add(waiter);
    this.admit();
    return () => this.#waiting.delete(waiter);
  }

  leave(): void {
    this.#running--;
    this.admit();
  }

  /** Starts those for whom there is room; to be called when the limit has changed, too. */
  admit(): void {
    const limit = this.#readLimit() || Infinity;
    for (const waiter of this.#waiting) {
      if (this.#running >= limit) return;
      this.#waiting.delete(waiter);
      this.#running++;
      waiter.start();
    }
  }
}
