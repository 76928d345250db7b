/**
 * Hashes of a prompt's beginning, at the ends of its messages and of blocks that double in length. They stay in this process:
 * replicas agree about them, since all have the same secret.
 */
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { MAX_JSON_DEPTH } from '../../kit/json-cost.ts';

/** Characters. Less than about 64 tokens is computed faster than it is relayed. */
export const MIN_PREFIX = 256;
/** Bounds the work on a prompt whose whole beginning is popular. */
export const MAX_PREFIX = 128 * 1024;
/** Estimated length of a token in a prompt of token IDs. */
const CHARACTERS_PER_TOKEN = 4;
/** Each value counts as one besides its text, so that the limit also holds for empty ones. */
const CHARACTERS_PER_VALUE = 1;

const FNV_PRIME = 0x01000193;
/** No character: keeps `["ab"]` and `["a", "b"]` apart. */
const SEPARATOR = 0x10_0000;

/** A number that only holders of the secret can compute. */
export const deriveSeed = (secret: string, purpose: string): number =>
  createHash('sha256').update(purpose).update('\0').update(secret).digest().readUInt32LE(0);

/** Spreads all bits of a 32-bit number over all of it (the finalizer of MurmurHash3). */
export function mixBits(value: number): number {
  let mixed = value;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

/**
 * The hash of the shortest beginning that is `fine` enough, else of the longest that is hashed; null for a prompt that is
 * too short to matter. `parts`: what the engine reads, in its order; each ends a beginning. Reads no further than it must.
 */
export function hashPrefix(
  parts: readonly unknown[],
  seed: number,
  isFine: (hash: number) => boolean,
): number | null {
  const reader = new PrefixReader(seed, isFine);
  for (const part of parts) {
    if (part === undefined || part === null) continue;
    reader.read(part);
    reader.endBeginning();
    if (reader.isDone) break;
  }
  return reader.hash;
}

class PrefixReader {
  /** Hash of the last beginning that was hashed. */
  hash: number | null = null;
  isDone = false;
  readonly #isFine: (hash: number) => boolean;
  #state: number;
  #length = 0;
  #blockEnd = MIN_PREFIX;
  #endedAt = 0;

  constructor(seed: number, isFine: (hash: number) => boolean) {
    this.#state = seed;
    this.#isFine = isFine;
  }

  /** Nesting deeper than in any prompt is not read: small bodies may have it. */
  read(value: unknown, depth = 0): void {
    if (depth > MAX_JSON_DEPTH) this.isDone = true;
    if (this.isDone) return;
    if (typeof value === 'number') {
      this.#readNumber(value);
      return;
    }
    this.#advance(CHARACTERS_PER_VALUE);
    if (typeof value === 'string') this.#readText(value);
    else if (Array.isArray(value)) this.#readItems(value, depth + 1);
    else if (typeof value === 'object' && value !== null) this.#readMembers(value, depth + 1);
    else this.#readText(String(value));
  }

  #readItems(items: readonly unknown[], depth: number): void {
    for (const item of items) {
      if (this.isDone) return;
      this.read(item, depth);
    }
  }

  #readMembers(members: object, depth: number): void {
    for (const name in members) {
      if (this.isDone) return;
      this.#readText(name);
      this.read((members as Record<string, unknown>)[name], depth);
    }
  }

  endBeginning(): void {
    if (this.isDone || this.#length < MIN_PREFIX || this.#length === this.#endedAt) return;
    this.#endedAt = this.#length;
    this.hash = mixBits(this.#state);
    this.isDone = this.#length >= MAX_PREFIX || this.#isFine(this.hash);
  }

  #readText(text: string): void {
    for (let from = 0; from < text.length && !this.isDone; ) {
      const to = Math.min(text.length, from + this.#blockEnd - this.#length);
      this.#state = crc32(text.slice(from, to), this.#state >>> 0);
      this.#advance(to - from);
      from = to;
    }
    this.#state = Math.imul(this.#state ^ SEPARATOR, FNV_PRIME);
  }

  #readNumber(value: number): void {
    this.#state = Math.imul(this.#state ^ value, FNV_PRIME);
    this.#advance(Math.min(CHARACTERS_PER_TOKEN, this.#blockEnd - this.#length));
  }

  #advance(length: number): void {
    this.#length += length;
    if (this.#length < this.#blockEnd) return;
    this.endBeginning();
    this.#blockEnd *= 2;
  }
}
