/** Strings and numbers within the bounds of a JSON Schema. */
import { refuse } from './errors.ts';
import type { Fields } from './fields.ts';
import { pickInteger, pickOne, type Random } from './random.ts';
import { generatePhrase } from './text.ts';

const MAX_STRING_LENGTH = 100_000;
const DEFAULT_SPAN = 100;

const FORMATS: Record<string, (random: Random) => string> = {
  date: (random) => `20${pad(random, 10, 40)}-${pad(random, 1, 12)}-${pad(random, 1, 28)}`,
  time: (random) => `${pad(random, 0, 23)}:${pad(random, 0, 59)}:${pad(random, 0, 59)}Z`,
  'date-time': (random) => `${FORMATS.date!(random)}T${FORMATS.time!(random)}`,
  duration: (random) => `PT${pickInteger(random, 1, 59)}M`,
  email: (random) => `${generatePhrase(random, 1)}@example.com`,
  hostname: (random) => `${generatePhrase(random, 1)}.example.com`,
  uri: (random) => `https://example.com/${generatePhrase(random, 1)}`,
  ipv4: (random) => `192.0.2.${pickInteger(random, 1, 254)}`,
  ipv6: (random) => `2001:db8::${pickInteger(random, 1, 9999)}`,
  uuid: (random) =>
    `${hex(random, 8)}-${hex(random, 4)}-4${hex(random, 3)}-a${hex(random, 3)}-${hex(random, 12)}`,
};

const pad = (random: Random, least: number, most: number): string =>
  String(pickInteger(random, least, most)).padStart(2, '0');

const hex = (random: Random, digits: number): string =>
  Array.from({ length: digits }, () => pickOne(random, [...'0123456789abcdef'])).join('');

export function generateString(schema: Fields, random: Random): string {
  const format = typeof schema.format === 'string' ? FORMATS[schema.format] : undefined;
  if (format) return format(random);
  const least = typeof schema.minLength === 'number' ? schema.minLength : 0;
  const most = typeof schema.maxLength === 'number' ? schema.maxLength : Infinity;
  if (least > MAX_STRING_LENGTH) throw refuse(`The JSON schema asks for a string of ${least} characters.`);
  let text = generatePhrase(random, pickInteger(random, 1, 4));
  while (text.length < least) text += ` ${generatePhrase(random, 8)}`;
  return text.slice(0, Math.max(least, Math.min(most, text.length)));
}

export function generateNumber(schema: Fields, random: Random, isInteger: boolean): number {
  const step = readBound(schema.multipleOf) ?? (isInteger ? 1 : 0.01);
  const unit = step > 0 ? step : 1;
  // Steps are whole from here on, which keeps bounds and multiples exact.
  const lowest = readLowest(schema, unit);
  const highest = readHighest(schema, unit);
  const least = lowest ?? (highest === null ? 0 : highest - DEFAULT_SPAN);
  const most = highest ?? least + DEFAULT_SPAN;
  if (!Number.isFinite(least) || !Number.isFinite(most) || most < least) {
    const narrow = readBound(schema.minimum) ?? readBound(schema.maximum);
    if (!isInteger && narrow !== null) return narrow;
    throw refuse('The JSON schema leaves no number between its bounds.');
  }
  const value = pickInteger(random, least, most) * unit;
  return Number.isInteger(unit) ? value : Number(value.toPrecision(12));
}

const readBound = (value: unknown): number | null => (typeof value === 'number' ? value : null);

function readLowest(schema: Fields, unit: number): number | null {
  const from = readBound(schema.minimum);
  const above = readBound(schema.exclusiveMinimum);
  const bounds = [
    from === null ? null : Math.ceil(from / unit),
    above === null ? null : Math.floor(above / unit) + 1,
  ];
  const set = bounds.filter((bound) => bound !== null);
  return set.length === 0 ? null : Math.max(...set);
}

function readHighest(schema: Fields, unit: number): number | null {
  const to = readBound(schema.maximum);
  const below = readBound(schema.exclusiveMaximum);
  const bounds = [
    to === null ? null : Math.floor(to / unit),
    below === null ? null : Math.ceil(below / unit) - 1,
  ];
  const set = bounds.filter((bound) => bound !== null);
  return set.length === 0 ? null : Math.min(...set);
}
