/** Bounds how many streams one user, and all together, have open. */
import { ConsoleError } from './error.ts';

export class StreamSlots {
  readonly #taken = new Map<string, number>();
  readonly #max: { each: number; all: number };
  #all = 0;

  /** `each`: of one key. */
  constructor(max: { each: number; all: number }) {
    this.#max = max;
  }

  /** Returns the way to give it back, once. Throws rate_limit_exceeded. */
  take(key: string): () => void {
    const taken = this.#taken.get(key) ?? 0;
    if (taken >= this.#max.each || this.#all >= this.#max.all)
      throw new ConsoleError(
        'rate_limit_exceeded',
        taken >= this.#max.each
          ? `You have ${taken} of these streams open: close one in another tab.`
          : 'The console has too many streams open. Try again later.',
        { retryAfter: 10 },
      );
    this.#taken.set(key, taken + 1);
    this.#all++;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      const left = this.#taken.get(key)! - 1;
      if (left === 0) this.#taken.delete(key);
      else this.#taken.set(key, left);
      this.#all--;
    };
  }
}
