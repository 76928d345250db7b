/** Progress of a job (docs/api.md, "Video"): as reported by the engine, or estimated from elapsed time. */

const MAX_PERCENT = 99;
/** Percent of an estimate after the expected time: a longer job must still show movement. */
const EXPECTED_PERCENT = 90;

export class Progress {
  readonly #startedAt: number;
  readonly #now: () => number;
  #expectedMs: number;
  #reported = 0;

  constructor(expectedMs: number, now = () => performance.now()) {
    this.#expectedMs = expectedMs;
    this.#now = now;
    this.#startedAt = now();
  }

  /** A better estimate than the first one. */
  expect(expectedMs: number): void {
    this.#expectedMs = expectedMs;
  }

  /** Percent, as reported by the engine. */
  report(percent: number): void {
    this.#reported = Math.max(this.#reported, percent);
  }

  /** Whole percent, 0 to 99. It may fall if the estimated time grew; the record keeps the maximum. */
  read(): number {
    const percent = this.#reported > 0 ? this.#reported : this.#guess();
    return Math.max(0, Math.min(MAX_PERCENT, Math.floor(percent)));
  }

  /** Linear until the expected time is over, then increasingly slow. */
  #guess(): number {
    const share = (this.#now() - this.#startedAt) / Math.max(1, this.#expectedMs);
    return share <= 1 ? EXPECTED_PERCENT * share : MAX_PERCENT - (MAX_PERCENT - EXPECTED_PERCENT) / share;
  }
}
