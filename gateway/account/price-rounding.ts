/** Prices as whole millionths, the unit of the workspace's account, without losing or gaining fractions (decision 0286). */
import { LRUCache } from 'lru-cache';

/** Keys whose remainder is kept; a dropped one was worth less than a millionth. */
const MAX_KEYS = 10_000;
/** Larger ones cannot be added up exactly. */
const MAX_PRICE = 2 ** 52;
/** Rounding error of sums of binary fractions. */
const ERROR = 1e-6;

export class PriceRounding {
  /** Fraction of a millionth, owed by a key. */
  readonly #owed = new LRUCache<string, number>({ max: MAX_KEYS });

  /**
   * The whole millionths that a request of the key is charged, for a price in millionths. The remainder is added to its next
   * request: many small requests cost what a large one does.
   */
  round(key: string, price: number): number {
    // The remainder is below one, so nothing is due. NaN would stay in it.
    if (!(price > 0)) return 0;
    const owed = Math.min(price, MAX_PRICE) + (this.#owed.get(key) ?? 0);
    const micros = Math.floor(owed + ERROR);
    this.#owed.set(key, owed - micros);
    return micros;
  }
}
