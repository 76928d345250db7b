import { expect } from 'chai';

const ROUNDS = 15;
/** Times below this are noise. */
const MIN_MS = 0.02;

/** Expects that eight times the length takes not much more than eight times as long; quadratic time would be 64 times. */
export function expectLinear(run: (length: number) => void, what: string, length = 1_000): void {
  const measure = (each: number) => {
    let best = Number.POSITIVE_INFINITY;
    for (let round = 0; round < ROUNDS; round++) {
      const begun = performance.now();
      run(each);
      best = Math.min(best, performance.now() - begun);
    }
    return best;
  };
  measure(length);
  expect(measure(8 * length), what).to.be.below(30 * Math.max(measure(length), MIN_MS));
}
