/** Which beginning of a prompt routes it: the one after the last fork that enough requests have reached. */
import { mixBits } from './prefix-hash.ts';

const ROWS = 4;
/** A power of two. */
const COLUMNS = 16_384;
/** Requests after which all counts are halved. */
const HORIZON = 4_096;
const ROW_STEP = 0x9e3779b9;
/** Fewer are not significant. */
const MIN_COUNT = 4;
/** Different continuations that make a prefix a fork; two may be a regenerated response. */
const MIN_BRANCHES = 3;
/** As many as a byte distinguishes. */
const BRANCHES = 8;

/**
 * Beginnings that are counted though the previous one is not popular yet: a long system prompt has several, and would be recognized
 * only when each of them had become popular in turn.
 */
const COUNTED_AHEAD = 6;

/** How often prefixes occur, and how many continuations they have, in fixed memory: a decaying count-min sketch. */
export class Popularity {
  readonly #counts = new Uint16Array(ROWS * COLUMNS);
  readonly #places = new Uint16Array(ROWS);
  /** A bit for each continuation of a prefix, for the current and the previous period between halvings. */
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

  /** Counts the prefix, and returns whether more than this share of all requests has it. */
  count(prefix: number, share: number): boolean {
    const counts = this.#counts;
    const places = this.#places;
    let least = Number.POSITIVE_INFINITY;
    for (let row = 0; row < ROWS; row++) {
      const place = findPlace(prefix, row);
      places[row] = place;
      least = Math.min(least, counts[place]!);
    }
    // Only the lowest counts are raised: higher ones are shared with other prefixes.
    for (let row = 0; row < ROWS; row++) if (counts[places[row]!] === least) counts[places[row]!] = least + 1;
    return least >= MIN_COUNT && least + 1 > share * this.#requests;
  }

  /** Records a continuation, and returns whether the prefix has many. */
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

/** For one prompt: receives its beginnings, shortest first. */
export class PrefixFork {
  /** Hash of the chosen beginning; null: none. */
  hash: number | null = null;
  readonly #popularity: Popularity;
  readonly #share: number;
  #last: number | null = null;
  #isLastPopular = false;
  #rare = 0;

  /** A prefix of more than this share of all requests is popular. */
  constructor(popularity: Popularity, share: number) {
    this.#popularity = popularity;
    this.#share = share;
  }

  /**
   * Counts the beginning; true: longer ones do not matter. A popular one with a single continuation is not a fork: its continuation
   * does not spread load, and a conversation would be routed elsewhere each time it grows.
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
