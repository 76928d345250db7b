/** Parses durations, quantities and amounts of Kubernetes objects. */
import { z } from 'zod';
import { cel } from './kubernetes-types.ts';

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
  P: 1e15,
  Pi: 1024 ** 5,
  E: 1e18,
  Ei: 1024 ** 6,
};
/** Those of Kubernetes' own fields may also have an exponent. */
const NUMBER = /^([0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)([mkKMGTPE]i?)?$/;

const DAY_MS = 86_400_000;

/** Limit of timers: a longer one would fire at once. */
export const MAX_TIMER_DAYS = 24;
/** For retention rather than timers. */
export const MAX_RETENTION_DAYS = 3_650;

/** For the API server, whose rule reads only the days of a mixture such as `23d12h`; the schema adds everything up. */
const limitDays = (days: number) =>
  cel({
    rule:
      `!self.matches('^[0-9]+d') ? self.matches('d') || duration(self) <= duration('${days * 24}h') : ` +
      `int(self.find('^[0-9]+')) < ${days} || self == '${days}d'`,
    message: `must be at most ${days}d`,
  });

/** A duration such as `30s`, `20m` or `1h30m`. */
export const duration = (describe: string, maxDays = MAX_TIMER_DAYS) =>
  z
    .string()
    .regex(DURATION, 'must be a duration such as 30s, 20m or 1h30m')
    .max(32)
    .refine((text) => parseDuration(text) <= maxDays * DAY_MS, `must be at most ${maxDays}d`)
    .meta({ description: describe, ...limitDays(maxDays) });

const quantityText = z.string().regex(QUANTITY, 'must be a quantity such as 512Mi, 8Gi or 500m').max(32);

/** A Kubernetes quantity such as `8Gi` or `500m`. */
export const quantity = (describe: string) => quantityText.describe(describe);

/** The same, no larger than another one. */
export const quantityUpTo = (most: string, describe: string) =>
  quantityText
    .refine((text) => parseQuantity(text) <= parseQuantity(most), `must be at most ${most}`)
    .meta({
      description: describe,
      ...cel({
        rule: `quantity(self).compareTo(quantity('${most}')) <= 0`,
        message: `must be at most ${most}`,
      }),
    });

/** The same, within two others. */
export function quantityBetween(least: string, most: string, describe: string) {
  const message = `must be from ${least} to ${most}`;
  const rule = `quantity(self).compareTo(quantity('${least}')) >= 0 && quantity(self).compareTo(quantity('${most}')) <= 0`;
  const isBetween = (size: number) => size >= parseQuantity(least) && size <= parseQuantity(most);
  return quantityText
    .refine((text) => isBetween(parseQuantity(text)), message)
    .meta({ description: describe, ...cel({ rule, message }) });
}

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

/** The number of a quantity (bytes, or cores), or NaN if it is none. */
export function parseQuantity(text: string): number {
  const [, number, unit = ''] = NUMBER.exec(text) ?? [];
  return Number(number) * (UNITS[unit] ?? Number.NaN);
}

const MEBIBYTE = 1024 ** 2;

/** In whole MiB. The first as it is if it is no quantity. */
export function addQuantities(one: string, other: string): string {
  const mebibytes = Math.ceil((parseQuantity(one) + parseQuantity(other)) / MEBIBYTE);
  return Number.isNaN(mebibytes) ? one : `${mebibytes}Mi`;
}
