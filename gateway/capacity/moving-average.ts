/** An exponential moving average of a level over the last seconds. */

/** After it, past values count for about a third. */
const DECAY_MS = 5_000;

export class MovingAverage {
  #value: number | null = null;
  #level = 0;
  #at = 0;

  /** The average, given the current level; milliseconds of any monotonic clock. */
  add(level: number, now: number): number {
    if (this.#value === null) this.#value = level;
    else {
      // Between two samples it was somewhere between them.
      const weight = 1 - Math.exp((this.#at - now) / DECAY_MS);
      this.#value += ((this.#level + level) / 2 - this.#value) * weight;
    }
    this.#level = level;
    this.#at = now;
    return this.#value;
  }
}
