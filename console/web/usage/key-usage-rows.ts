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

export interface OwnerTotal {
  /** null: keys without an owner, and those without a name. */
  owner: string | null;
  requests: number;
  tokens: number;
  cost: number;
}

/** Millionths: what a cost is rounded to. */
const MICROS = 1_000_000;

/** Usage and cost of each owner, the dearest first; none if no key has an owner. */
export function sumByOwner(
  rows: readonly Pick<KeyUsageView, 'owner' | 'requests' | 'inputTokens' | 'outputTokens' | 'cost'>[],
): OwnerTotal[] {
  const totals = new Map<string | null, OwnerTotal>();
  for (const { owner, requests, inputTokens, outputTokens, cost } of rows) {
    const sum = totals.get(owner) ?? { owner, requests: 0, tokens: 0, cost: 0 };
    totals.set(owner, {
      owner,
      requests: sum.requests + requests,
      tokens: sum.tokens + inputTokens + outputTokens,
      cost: Math.round((sum.cost + Number(cost)) * MICROS) / MICROS,
    });
  }
  if ([...totals.keys()].every((owner) => owner === null)) return [];
  return [...totals.values()].sort((a, b) => b.cost - a.cost || b.requests - a.requests);
}

/** Keys that are gone or hidden from this user have no name. No APIKey has a name with a capital letter or a space. */
export const nameKey = ({ key, keyHash }: Pick<KeyUsageView, 'key' | 'keyHash'>): string =>
  keyHash === PERSONAL_KEYS_DIGITS ? 'Playgrounds' : (key ?? `unnamed (${keyHash.slice(0, SHOWN_DIGITS)})`);
