/** The days of usage by key, and the names of its keys. Pure. */
import { PERSONAL_KEYS_DIGITS } from '../../../api/redis-keys.ts';
import type { KeyUsageView } from '../../api.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const UNITS: Record<string, number> = { h: HOUR_MS, d: DAY_MS };
/** Enough to tell keys apart. */
const SHOWN_DIGITS = 8;

/** The days in UTC that a range such as `24h` or `30d` touches, both included. */
export function findDays(range: string, now: number): { from: string; to: string } {
  const length = Number.parseInt(range, 10) * UNITS[range.at(-1)!]!;
  // A range of days has as many of them: today is one.
  const begin = length > DAY_MS ? now - length + DAY_MS : now - length;
  return { from: formatDay(begin), to: formatDay(now) };
}

const formatDay = (at: number): string => new Date(at).toISOString().slice(0, 10);

/** Keys that are gone or hidden from this user have no name. No APIKey has a name with a capital letter or a space. */
export const nameKey = ({ key, keyHash }: Pick<KeyUsageView, 'key' | 'keyHash'>): string =>
  keyHash === PERSONAL_KEYS_DIGITS ? 'Playgrounds' : (key ?? `unnamed (${keyHash.slice(0, SHOWN_DIGITS)})`);

/** Bars of more would be too thin to see: the rest is one. */
const MAX_GROUPS = 5;
const OTHERS = 'others';

export interface CostsByDay {
  /** Those that cost most first, then `others` if there are more. */
  groups: string[];
  /** All days of the period in order, with the cost of each group. */
  days: (Record<string, unknown> & { at: string })[];
}

/** What each key or deployment cost on each day from `from` to `to`; undefined if nothing cost anything. */
export function sumCosts(
  rows: readonly KeyUsageView[],
  by: 'key' | 'deployment',
  { from, to }: { from: string; to: string },
): CostsByDay | undefined {
  const nameOf = (row: KeyUsageView) => (by === 'key' ? nameKey(row) : row.deployment);
  const totals = new Map<string, number>();
  for (const row of rows) totals.set(nameOf(row), (totals.get(nameOf(row)) ?? 0) + Number(row.cost));
  const costly = [...totals].filter(([, cost]) => cost > 0).sort((one, other) => other[1] - one[1]);
  if (costly.length === 0) return undefined;
  const named = costly
    .slice(0, costly.length > MAX_GROUPS ? MAX_GROUPS - 1 : MAX_GROUPS)
    .map(([name]) => name);
  const groups = [...named, ...(costly.length > named.length ? [OTHERS] : [])];
  const indexOf = (row: KeyUsageView) => {
    const index = named.indexOf(nameOf(row));
    return index < 0 ? groups.length - 1 : index;
  };
  const days: CostsByDay['days'] = [];
  for (let at = Date.parse(from); at <= Date.parse(to); at += DAY_MS) {
    const day = formatDay(at);
    const costs = groups.map(() => 0);
    for (const row of rows)
      if (row.day === day && Number(row.cost) > 0) costs[indexOf(row)]! += Number(row.cost);
    days.push({ at: day, ...Object.fromEntries(costs.map((cost, index) => [`cost${index}`, cost])) });
  }
  return { groups, days };
}
