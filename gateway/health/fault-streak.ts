/** Consecutive faults of an engine; a lasting streak pauses it, then puts it on trial (a circuit breaker). Pure. */

export interface FaultBounds {
  /** So many consecutive faults … */
  faults: number;
  /** … over at least this time, and the engine counts as failing. */
  failingMs: number;
  /** It gets no requests for this long before the next trial … */
  restMs: number;
  /** … and so many more faults end the trial. */
  trialFaults: number;
  /** Requests alone prove nothing, since they may be invalid: it counts as failing only once confirmed. */
  needsProof: boolean;
}

/** `suspected`: the requests may be at fault. `resting`: nothing is sent to it. `trial`: it is being retried. */
export type Streak = 'none' | 'suspected' | 'resting' | 'trial';

export class FaultStreak {
  readonly #bounds: FaultBounds;
  #count = 0;
  #firstAt = 0;
  #failedAt: number | null = null;
  #trialFaults = 0;
  #isSuspected = false;

  constructor(bounds: FaultBounds) {
    this.#bounds = bounds;
  }

  get count(): number {
    return this.#count;
  }

  /** It awaits confirmation, also of a trial's faults, which `read` reports as a trial. */
  get isSuspected(): boolean {
    return this.#isSuspected;
  }

  /** It counts as failing. */
  get isConfirmed(): boolean {
    return this.#failedAt !== null;
  }

  read(at: number): Streak {
    if (this.#failedAt === null) return this.#isSuspected ? 'suspected' : 'none';
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
    if (this.#bounds.needsProof) this.#isSuspected = true;
    else this.confirm(at);
  }

  /** It fails at certainly valid requests. */
  confirm(at: number): void {
    this.#failedAt = at;
    this.#trialFaults = 0;
    this.#isSuspected = false;
  }

  /** A success. */
  end(): void {
    this.#count = 0;
    this.#failedAt = null;
    this.#isSuspected = false;
  }
}
