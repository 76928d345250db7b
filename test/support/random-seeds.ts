/** Seeds of random histories: `make test` uses the same ones each time, `make fuzz` new ones. */

const FIXED_SEEDS = [1, 2, 3, 4];

/** With `SEED` this one, with `SEEDS` as many new ones, otherwise always the same four. */
export function listSeeds({ SEED, SEEDS } = process.env): number[] {
  if (SEED) return [Number(SEED)];
  if (!SEEDS) return FIXED_SEEDS;
  return Array.from({ length: Number(SEEDS) }, () => Math.floor(Math.random() * 1e9));
}

/** Pseudorandom numbers from a seed (mulberry32). */
export function seedRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
