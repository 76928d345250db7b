/** How far a job is (contract: Video object): the larger of the engine's word and the time that has passed. */

const MOST = 99;

export class Progress {
  readonly #startedAt: number;
  readonly #now: () => number;
  #expectedMs: number;
  #told = 0;

  constructor(expectedMs: number, now = () => performance.now()) {
    this.#expectedMs = expectedMs;
    this.#now = now;
    this.#startedAt = now();
  }

  /** A better guess than the first one. */
  expect(expectedMs: number): void {
    this.#expectedMs = expectedMs;
  }

  /** Percent, as the engine says. */
  tell(percent: number): void {
    this.#told = Math.max(this.#told, percent);
  }

  /** Whole percent, 0 to 99. It may fall where the guess grew; the record keeps the largest. */
  read(): number {
    const elapsed = (100 * (this.#now() - this.#startedAt)) / Math.max(1, this.#expectedMs);
    return Math.max(0, Math.min(MOST, Math.floor(Math.max(this.#told, elapsed))));
  }
}
