/** Loads for the simulation of autoscalers: random ones repeat with their seed. */
import { seedRandom } from '../random-seeds.ts';
import type { SimulatedRequest } from './simulation.ts';

const exponential = (random: () => number, mean: number): number => -Math.log(1 - random()) * mean;

export interface PoissonOptions {
  seed: number;
  durationMs: number;
  serviceMs: number;
  /** Average requests in service at a time (milliseconds) if none wait. */
  concurrency: (at: number) => number;
  /** Maximum of `concurrency`. */
  peak: number;
}

/** Poisson arrivals whose rate follows a curve, with exponential service times. */
export function poissonLoad(options: PoissonOptions): SimulatedRequest[] {
  const { seed, durationMs, serviceMs, concurrency, peak } = options;
  const random = seedRandom(seed);
  const requests: SimulatedRequest[] = [];
  const gapMs = serviceMs / peak;
  for (let at = exponential(random, gapMs); at < durationMs; at += exponential(random, gapMs))
    if (random() * peak < concurrency(at)) requests.push({ at, serviceMs: exponential(random, serviceMs) });
  return requests;
}

/** `high` for the first half of each period, then `low`. */
export const squareWave =
  (periodMs: number, low: number, high: number) =>
  (at: number): number =>
    at % periodMs < periodMs / 2 ? high : low;

/** Regular arrivals, so that only the curve changes. */
export function evenLoad({
  durationMs,
  serviceMs,
  concurrency,
}: Omit<PoissonOptions, 'seed' | 'peak'>): SimulatedRequest[] {
  const requests: SimulatedRequest[] = [];
  let due = 0;
  const stepMs = 5;
  for (let at = 0; at < durationMs; at += stepMs) {
    due += (concurrency(at) / serviceMs) * stepMs;
    for (; due >= 1; due--) requests.push({ at, serviceMs });
  }
  return requests;
}
