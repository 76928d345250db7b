/** Durations of options, such as 30s, 5m, 2h and 1d. Pure. */
import { Failure } from './failure.ts';

const SECONDS = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;

/** In seconds. Throws Failure with what is allowed. */
export function readDuration(option: string, text: string): number {
  const [, count, unit] = /^([1-9]\d{0,8})([smhd])$/.exec(text) ?? [];
  if (count === undefined)
    throw new Failure('usage', `--${option} must be a duration such as 30s, 5m, 2h or 1d, not "${text}"`);
  return Number(count) * SECONDS[unit as keyof typeof SECONDS];
}
