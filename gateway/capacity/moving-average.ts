/** The average of a level over the last seconds, in which what is longer ago counts less. */

/** After it, what was counts for about a third. */
const DECAY_MS = 5_000;

export class MovingAverage {
  #value: number | null = null;
  #level = 0;
  #at = 0;

  /** The average with the level that it has now; milliseconds of any monotonic clock. */
  add(level: number, now: number): number {
    if (this.#value === null) this.#value = level;
    else {
      // Between two looks it was somewhere between them.
      const weight = 1 - Math.exp((this.#at - now) / DECAY_MS);
      this.#value += ((this.#level + level) / 2 - this.#value) * weight;
    }
    this.#level = level;
    this.#at = now;
    return this.#value;
  }
}
