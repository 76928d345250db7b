/** Faults of an engine without a success between them; a streak that lasts leaves it alone, then puts it on trial. Pure. */

export interface FaultBounds {
  /** So many faults in a row … */
  faults: number;
  /** … over so long a time, and the engine counts as failing. */
  failingMs: number;
  /** So long it is left alone before it is tried again … */
  restMs: number;
  /** … and so many more faults end the trial. */
  trialFaults: number;
}

export class FaultStreak {
  readonly #bounds: FaultBounds;
  #count = 0;
  #firstAt = 0;
  #failedAt: number | null = null;
  #trialFaults = 0;

  constructor(bounds: FaultBounds) {
    this.#bounds = bounds;
  }

  get count(): number {
    return this.#count;
  }

  /** `resting`: nothing may be sent to it. `trial`: it may prove itself. */
  read(at: number): 'none' | 'resting' | 'trial' {
    if (this.#failedAt === null) return 'none';
    return at - this.#failedAt < this.#bounds.restMs ? 'resting' : 'trial';
  }

  add(at: number): void {
    const { faults, failingMs, trialFaults } = this.#bounds;
    if (this.#count++ === 0) this.#firstAt = at;
    const hasFailed =
      this.#failedAt === null
        ? this.#count >= faults && at - this.#firstAt >= failingMs
        : this.read(at) === 'trial' && ++this.#trialFaults >= trialFaults;
    if (!hasFailed) return;
    this.#failedAt = at;
    this.#trialFaults = 0;
  }

  /** A success. */
  end(): void {
    this.#count = 0;
    this.#failedAt = null;
  }
}
