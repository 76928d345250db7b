/** The places on this replica's engine. */
import { BusyTime } from './busy-time.ts';

export class Slots {
  /** Requests and jobs that have a place, and those that wait for one. */
  readonly busy: BusyTime;
  #inflight = 0;
  readonly #listeners = new Set<() => void>();
  readonly #readLimit: () => number | null;

  /** `readLimit` is asked each time, so a changed limit holds at once; null = unlimited. */
  constructor(readLimit: () => number | null, busy = new BusyTime()) {
    this.#readLimit = readLimit;
    this.busy = busy;
  }

  get inflight(): number {
    return this.#inflight;
  }

  get limit(): number | null {
    return this.#readLimit();
  }

  get isFull(): boolean {
    const limit = this.#readLimit();
    return limit !== null && this.#inflight >= limit;
  }

  /** Takes a place, or answers null when all are taken. What is returned gives it back, once. */
  take(): (() => void) | null {
    const release = this.hold();
    return release && this.countBusy(release);
  }

  /** From now until the place is given back, its holder counts as something to do. */
  countBusy(release: () => void): () => void {
    const leave = this.busy.enter();
    return () => {
      leave();
      release();
    };
  }

  /** As `take`, for a look or a promise, which are nothing to do yet. */
  hold(): (() => void) | null {
    if (this.isFull) return null;
    this.#inflight++;
    if (this.isFull) this.#tellCrossing();
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      const wasFull = this.isFull;
      this.#inflight--;
      if (wasFull && !this.isFull) this.#tellCrossing();
    };
  }

  /** Called whenever the last slot is taken and when one becomes free again. */
  onCrossing(listener: () => void): void {
    this.#listeners.add(listener);
  }

  #tellCrossing(): void {
    for (const listener of this.#listeners) listener();
  }
}
