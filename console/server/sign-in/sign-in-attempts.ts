/** Limits failed sign-ins per address. */
import { LRUCache } from 'lru-cache';

const WINDOW_MS = 60_000;
/** Many users can share the address of a proxy. */
const MAX_FAILURES = 30;
const MAX_ADDRESSES = 10_000;

export class SignInAttempts {
  readonly #clock: () => number;
  readonly #failures = new LRUCache<string, { count: number; endsAt: number }>({ max: MAX_ADDRESSES });

  constructor(clock: () => number = Date.now) {
    this.#clock = clock;
  }

  /** Whole seconds to wait; 0 = no need to wait. */
  waitSeconds(address: string): number {
    const entry = this.#failures.get(address);
    if (!entry || entry.count < MAX_FAILURES) return 0;
    return Math.max(0, Math.ceil((entry.endsAt - this.#clock()) / 1_000));
  }

  note(address: string): void {
    const now = this.#clock();
    const entry = this.#failures.get(address);
    if (entry && entry.endsAt > now) {
      entry.count++;
      return;
    }
    this.#failures.set(address, { count: 1, endsAt: now + WINDOW_MS });
  }
}
