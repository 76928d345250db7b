/** The places on this replica's engine. */

export class Slots {
  #inflight = 0;
  readonly #listeners = new Set<() => void>();
  readonly #readLimit: () => number | null;

  /** `readLimit` is asked each time, so a changed limit holds at once; null = unlimited. */
  constructor(readLimit: () => number | null) {
    this.#readLimit = readLimit;
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
