/** Faults of an engine without a success between them; a streak that lasts leaves it alone, then puts it on trial. Pure. */

export interface FaultBounds {
  /** So many faults in a row … */
  faults: number;
  /** … over at least this time, and the engine counts as failing. */
  failingMs: number;
  /** It gets no requests for this long before it is tried again … */
  restMs: number;
  /** … and so many more faults end the trial. */
  trialFaults: number;
  /** Requests alone prove nothing, since they may be wrong themselves: it counts as failing once that is confirmed. */
  needsProof: boolean;
}

/** `suspected`: it may be the requests. `resting`: nothing may be sent to it. `trial`: it may prove itself. */
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

  /** It awaits confirmation, of a trial's faults too, which `read` calls a trial. */
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

  /** It fails at what is certainly right. */
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
