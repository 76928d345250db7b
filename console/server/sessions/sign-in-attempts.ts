/** Bounds how often one address may fail to sign in. */

const WINDOW_MS = 60_000;
/** A proxy in front may bring many people from one address. */
const MOST_FAILURES = 30;
const MOST_ADDRESSES = 10_000;

export class Attempts {
  readonly #clock: () => number;
  readonly #failures = new Map<string, { count: number; endsAt: number }>();

  constructor(clock: () => number = Date.now) {
    this.#clock = clock;
  }

  /** Whole seconds to wait; 0 = go on. */
  waitSeconds(address: string): number {
    const entry = this.#failures.get(address);
    if (!entry || entry.count < MOST_FAILURES) return 0;
    return Math.max(0, Math.ceil((entry.endsAt - this.#clock()) / 1_000));
  }

  note(address: string): void {
    const now = this.#clock();
    const entry = this.#failures.get(address);
    if (entry && entry.endsAt > now) {
      entry.count++;
      return;
    }
    this.#failures.delete(address);
    this.#failures.set(address, { count: 1, endsAt: now + WINDOW_MS });
    if (this.#failures.size > MOST_ADDRESSES) this.#failures.delete(this.#failures.keys().next().value!);
  }
}
