/** How far a job is (docs/api.md, "Video"): what the engine says, or a guess by the time that has passed. */

const MAX_PERCENT = 99;
/** Percent that a guess shows when the expected time is over: what takes longer must still be seen to move. */
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

  /** A better guess than the first one. */
  expect(expectedMs: number): void {
    this.#expectedMs = expectedMs;
  }

  /** Percent, as the engine says. */
  report(percent: number): void {
    this.#reported = Math.max(this.#reported, percent);
  }

  /** Whole percent, 0 to 99. It may fall where the guess grew; the record keeps the largest. */
  read(): number {
    const percent = this.#reported > 0 ? this.#reported : this.#guess();
    return Math.max(0, Math.min(MAX_PERCENT, Math.floor(percent)));
  }

  /** Even until the expected time is over, then slower and slower. */
  #guess(): number {
    const share = (this.#now() - this.#startedAt) / Math.max(1, this.#expectedMs);
    return share <= 1 ? EXPECTED_PERCENT * share : MAX_PERCENT - (MAX_PERCENT - EXPECTED_PERCENT) / share;
  }
}
