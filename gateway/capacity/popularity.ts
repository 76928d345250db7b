/** How often prefixes come, in fixed memory however many there are: a count-min sketch that forgets. */
import { mixBits } from './prefix-hash.ts';

const ROWS = 4;
/** A power of two. */
const COLUMNS = 4_096;
/** Requests after which all counts are halved. */
const HORIZON = 4_096;
const ROW_STEP = 0x9e3779b9;
/** Fewer say nothing. */
const MIN_COUNT = 8;

export class Popularity {
  readonly #counts = new Uint16Array(ROWS * COLUMNS);
  readonly #places = new Uint16Array(ROWS);
  #requests = 0;

  /** Before the prefixes of a request are counted. */
  beginRequest(): void {
    this.#requests++;
    if (this.#requests < HORIZON) return;
    this.#requests >>= 1;
    const counts = this.#counts;
    for (let index = 0; index < counts.length; index++) counts[index] = counts[index]! >> 1;
  }

  /** Counts the prefix, and answers whether more than this share of all requests has it. */
  count(prefix: number, share: number): boolean {
    const counts = this.#counts;
    const places = this.#places;
    let least = Number.POSITIVE_INFINITY;
    for (let row = 0; row < ROWS; row++) {
      const place = row * COLUMNS + (mixBits(prefix + row * ROW_STEP) & (COLUMNS - 1));
      places[row] = place;
      least = Math.min(least, counts[place]!);
    }
    // Only what is too low is raised: others have the rest of a count in common with this one.
    for (let row = 0; row < ROWS; row++) if (counts[places[row]!] === least) counts[places[row]!] = least + 1;
    return least >= MIN_COUNT && least + 1 > share * this.#requests;
  }
}
