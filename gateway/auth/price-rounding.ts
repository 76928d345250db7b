/** Prices as whole millionths, the unit of the workspace's account, without a fraction lost or won. */
import { LRUCache } from 'lru-cache';

/** Keys whose last fraction is remembered; one that is forgotten was worth less than a millionth. */
const MAX_KEYS = 10_000;
/** Sums of binary fractions come this near to a whole number without being there. */
const ERROR = 1e-6;

export class PriceRounding {
  /** Of a millionth, owed by a key. */
  readonly #owed = new LRUCache<string, number>({ max: MAX_KEYS });

  /**
   * The whole millionths that a request of the key is charged, of a price in millionths. What is below one is added to its next
   * request: many small requests cost what a large one does.
   */
  round(key: string, price: number): number {
    // What is owed is below one, so nothing becomes due.
    if (price === 0) return 0;
    const owed = price + (this.#owed.get(key) ?? 0);
    const micros = Math.floor(owed + ERROR);
    this.#owed.set(key, owed - micros);
    return micros;
  }
}
