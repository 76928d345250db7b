/** Budgets of keys and owners: money per calendar period in UTC; without zod, since gateways load it. */

export const BUDGET_PERIODS = ['Day', 'Week', 'Month'] as const;
export type BudgetPeriod = (typeof BUDGET_PERIODS)[number];

export interface Budget {
  /** Millionths. */
  micros: number;
  period: BudgetPeriod;
  /** Percentages at which a warning is sent. */
  warnAt: readonly number[];
}

/** Whose budget it is. */
export interface BudgetHolder {
  kind: 'key' | 'owner';
  /** The name of the APIKey, or one in Workspace.spec.owners. */
  name: string;
}

/** A budget in its current period, as callers are told. */
export interface BoundingBudget extends BudgetHolder {
  micros: number;
  period: BudgetPeriod;
  /** Unix seconds: when its next period begins. */
  endsAt: number;
  /** Millionths, where a price does not fit into it; older libraries do not say it. */
  leftMicros?: number;
}

/** Text of a budget in Redis, which `budget.lua` reads. */
export const encodeBudget = ({ micros, period, warnAt }: Budget): string =>
  [micros, period, ...warnAt].join(',');

/** What `describe_budget` or `find_exhausted` of `budget.lua` wrote. */
export function decodeBounding(text: string): BoundingBudget {
  const [holder = '', micros, period, endsAt, left] = text.split(',');
  const colon = holder.indexOf(':');
  return {
    kind: holder.slice(0, colon) as BudgetHolder['kind'],
    name: holder.slice(colon + 1),
    micros: Number(micros),
    period: period as BudgetPeriod,
    endsAt: Number(endsAt),
    ...(left !== undefined && { leftMicros: Number(left) }),
  };
}

const DAY_MS = 86_400_000;
/** 1970 began on a Thursday. */
const DAYS_SINCE_MONDAY = 3;

/** The calendar period of a time in UTC, as `budget.lua` counts it. All in Unix milliseconds. */
export function findPeriod(period: BudgetPeriod, at: number): { number: number; endsAt: number } {
  const day = Math.floor(at / DAY_MS);
  if (period === 'Day') return { number: day, endsAt: (day + 1) * DAY_MS };
  if (period === 'Week') {
    const week = Math.floor((day + DAYS_SINCE_MONDAY) / 7);
    return { number: week, endsAt: (7 * (week + 1) - DAYS_SINCE_MONDAY) * DAY_MS };
  }
  const date = new Date(at);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return { number: 12 * year + month, endsAt: Date.UTC(year, month + 1, 1) };
}

/** The name of a budget's counter in the period of a time (Unix milliseconds): part of a Redis key. */
export const nameCounter = ({ kind, name }: BudgetHolder, period: BudgetPeriod, at: number): string =>
  `${kind}:${name}:${period}:${findPeriod(period, at).number}`;

/** The name of what that counter has warned of, for one amount: part of a Redis key. */
export const nameWarnings = (counter: string, { micros }: Budget): string => `${counter}:${micros}`;

/** Whole percent of a budget that is spent; of an amount of 0, all. */
export const percentOf = (spentMicros: number, micros: number): number =>
  micros > 0 ? Math.floor((100 * spentMicros) / micros) : 100;
