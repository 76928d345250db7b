/** Which beginning of a prompt leads it to a replica: the one behind the last fork that so many requests have come to. */
import type { Popularity } from './popularity.ts';

/**
 * Beginnings that are counted though the one before them is not popular yet: a long system prompt has several, and would be known
 * only when each of them had become popular in turn.
 */
const COUNTED_AHEAD = 6;

/** For one prompt: is told of its beginnings, shortest first. */
export class PrefixFork {
  /** Of the beginning that was chosen; null: there was none. */
  hash: number | null = null;
  readonly #popularity: Popularity;
  readonly #share: number;
  #last: number | null = null;
  #isLastPopular = false;
  #rare = 0;

  /** What more than this share of all requests have is popular. */
  constructor(popularity: Popularity, share: number) {
    this.#popularity = popularity;
    this.#share = share;
  }

  /**
   * Counts the beginning; true: no longer one is of interest. A popular one that always goes on alike is no fork: what it goes on
   * with spreads nothing, and a conversation would be led elsewhere each time it grows.
   */
  visit(beginning: number): boolean {
    const popularity = this.#popularity;
    const isPopular = popularity.count(beginning, this.#share);
    const isFork = this.#last !== null && popularity.follow(this.#last, beginning) && this.#isLastPopular;
    if (this.#last === null || isFork) this.hash = beginning;
    this.#last = beginning;
    this.#isLastPopular = isPopular;
    if (!isPopular) this.#rare++;
    return this.#rare > COUNTED_AHEAD;
  }
}
