/** Deterministic randomness: the same text and seed always give the same numbers. */

export type Random = () => number;

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/** FNV-1a over UTF-16 units; `start` chains several texts into one hash. */
export function hashText(text: string, start = FNV_OFFSET): number {
  let hash = start;
  for (let index = 0; index < text.length; index++)
    hash = Math.imul(hash ^ text.charCodeAt(index), FNV_PRIME);
  return hash >>> 0;
}

/** Mulberry32: numbers in [0, 1) from a 32-bit seed. */
export function createRandom(seed: number): Random {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** A whole number from `least` to `most`, both included. */
export const pickInteger = (random: Random, least: number, most: number): number =>
  least + Math.floor(random() * (most - least + 1));

export const pickOne = <T>(random: Random, items: readonly T[]): T =>
  items[Math.floor(random() * items.length)]!;
