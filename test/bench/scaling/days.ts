/** Synthetic days of one deployment, random but reproducible from a seed. */
import { seedRandom } from '../../support/random-seeds.ts';
import { poissonLoad } from '../../support/scaling/loads.ts';
import type { Fleet } from './clairvoyant.ts';

const HOUR_MS = 3_600_000;
/** Slots of a replica; and the most replicas. */
export const [SLOTS, MAX] = [8, 12];
export const LOAD_MS = 60_000;

/** 24 hours: a night of almost nothing, a working day with its peaks, and bursts of minutes at random. */
export function makeDay(seed: number): Fleet {
  const random = seedRandom(seed);
  const durationMs = 24 * HOUR_MS;
  const bursts = Array.from({ length: 40 }, () => ({
    from: (6 + 16 * random()) * HOUR_MS,
    ms: (2 + 13 * random()) * 60_000,
    load: SLOTS * (0.5 + 2.5 * random()),
  }));
  const day = (at: number) => {
    const hour = at / HOUR_MS;
    if (hour < 6 || hour > 22) return hour > 2 && hour < 5 ? 0 : 0.3;
    return SLOTS * (0.3 + 3.2 * Math.sin(((hour - 6) / 16) * Math.PI) ** 2);
  };
  const concurrency = (at: number) =>
    day(at) + bursts.reduce((sum, { from, ms, load }) => sum + (at >= from && at < from + ms ? load : 0), 0);
  const requests = poissonLoad({ seed, durationMs, serviceMs: 5_000, concurrency, peak: SLOTS * 14 });
  return { requests, slots: SLOTS, loadMs: LOAD_MS, durationMs };
}
