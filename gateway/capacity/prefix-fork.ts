/** Which beginning of a prompt leads it to a replica: the one behind the last fork that so many requests have come to. */
import { mixBits } from './prefix-hash.ts';

const ROWS = 4;
/** A power of two. */
const COLUMNS = 16_384;
/** Requests after which all counts are halved. */
const HORIZON = 4_096;
const ROW_STEP = 0x9e3779b9;
/** Fewer say nothing. */
const MIN_COUNT = 4;
/** Different beginnings behind a prefix that make it a fork; two may be a second answer to the same question. */
const MIN_BRANCHES = 3;
/** As many as a byte tells apart. */
const BRANCHES = 8;

/**
 * Beginnings that are counted though the one before them is not popular yet: a long system prompt has several, and would be known
 * only when each of them had become popular in turn.
 */
const COUNTED_AHEAD = 6;

/** How often prefixes come, and in how many ways they go on, in fixed memory however many there are: a count-min sketch that forgets. */
export class Popularity {
  readonly #counts = new Uint16Array(ROWS * COLUMNS);
  readonly #places = new Uint16Array(ROWS);
  /** A bit for each beginning that came behind a prefix, since the counts were halved last and before. */
  #branches = new Uint8Array(ROWS * COLUMNS);
  #branchesBefore = new Uint8Array(ROWS * COLUMNS);
  #requests = 0;

  /** Before the prefixes of a request are counted. */
  beginRequest(): void {
    this.#requests++;
    if (this.#requests < HORIZON) return;
    this.#requests >>= 1;
    const counts = this.#counts;
    for (let index = 0; index < counts.length; index++) counts[index] = counts[index]! >> 1;
    [this.#branches, this.#branchesBefore] = [this.#branchesBefore.fill(0), this.#branches];
  }

  /** Counts the prefix, and answers whether more than this share of all requests has it. */
  count(prefix: number, share: number): boolean {
    const counts = this.#counts;
    const places = this.#places;
    let least = Number.POSITIVE_INFINITY;
    for (let row = 0; row < ROWS; row++) {
      const place = findPlace(prefix, row);
      places[row] = place;
      least = Math.min(least, counts[place]!);
    }
    // Only what is too low is raised: others have the rest of a count in common with this one.
    for (let row = 0; row < ROWS; row++) if (counts[places[row]!] === least) counts[places[row]!] = least + 1;
    return least >= MIN_COUNT && least + 1 > share * this.#requests;
  }

  /** Notes what came right behind a prefix, and answers whether the prefix goes on in many ways. */
  follow(prefix: number, next: number): boolean {
    const branch = 1 << (next % BRANCHES);
    let all = 0xff;
    for (let row = 0; row < ROWS; row++) {
      const place = findPlace(prefix, row);
      this.#branches[place]! |= branch;
      all &= this.#branches[place]! | this.#branchesBefore[place]!;
    }
    return countBits(all) >= MIN_BRANCHES;
  }
}

const findPlace = (prefix: number, row: number): number =>
  row * COLUMNS + (mixBits(prefix + row * ROW_STEP) & (COLUMNS - 1));

function countBits(bits: number): number {
  let count = 0;
  for (let left = bits; left !== 0; left &= left - 1) count++;
  return count;
}

/** For one prompt: takes its beginnings, shortest first. */
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
