/** Durations, quantities and money as Kubernetes objects carry them, and their numbers. */
import { z } from 'zod';

const DURATION = /^([0-9]+(ms|s|m|h|d))+$/;
const QUANTITY = /^([0-9]+(\.[0-9]+)?)(m|k|Ki|M|Mi|G|Gi|T|Ti)?$/;
const AMOUNT = /^[0-9]{1,9}(\.[0-9]{1,6})?$/;

const MILLISECONDS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const UNITS: Record<string, number> = {
  '': 1,
  m: 0.001,
  k: 1e3,
  Ki: 1024,
  M: 1e6,
  Mi: 1024 ** 2,
  G: 1e9,
  Gi: 1024 ** 3,
  T: 1e12,
  Ti: 1024 ** 4,
};

/** A duration such as `30s`, `20m` or `1h30m`. */
export const duration = (describe: string) =>
  z.string().regex(DURATION, 'must be a duration such as 30s, 20m or 1h30m').max(32).describe(describe);

/** A Kubernetes quantity such as `8Gi` or `500m`. */
export const quantity = (describe: string) =>
  z.string().regex(QUANTITY, 'must be a quantity such as 512Mi, 8Gi or 500m').max(32).describe(describe);

/** A price or credit: a decimal string with at most 6 places, such as `0.04`. */
export const amount = (describe: string) =>
  z.string().regex(AMOUNT, 'must be a decimal such as 0.04, with at most 6 places').describe(describe);

/** Milliseconds of a duration that its schema has accepted. */
export function parseDuration(text: string): number {
  let total = 0;
  for (const [, digits, unit] of text.matchAll(/([0-9]+)(ms|s|m|h|d)/g))
    total += Number(digits) * MILLISECONDS[unit!]!;
  return total;
}

/** The number of a quantity (bytes, or cores), or NaN where it is none. */
export function parseQuantity(text: string): number {
  const match = QUANTITY.exec(text);
  return match ? Number(match[1]) * UNITS[match[3] ?? '']! : Number.NaN;
}

/** Millionths of an amount, an integer: the unit in which credit is counted. */
export function parseAmount(text: string): number {
  return Math.round(Number(text) * 1_000_000);
}

/** The decimal string of an amount in millionths. */
export function formatAmount(micros: number): string {
  return (micros / 1_000_000).toFixed(6).replace(/\.?0+$/, '');
}
