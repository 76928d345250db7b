/** What budgets have spent. */
import {
  type Budget,
  type BudgetHolder,
  findPeriod,
  nameCounter,
  nameWarnings,
  percentOf,
} from '../../api/budget.ts';
import { workKeys } from '../../api/redis-keys.ts';
import { execute, isRedisAway, type RedisClient } from '../client.ts';
import { readEpoch } from '../publication/published.ts';
import { isCount, readCounter } from '../untrusted-values.ts';

export interface BudgetState {
  spentMicros: number;
  /** Whole percent. */
  percent: number;
  /** Unix milliseconds. */
  periodEndsAt: number;
}

/** `at`: Unix milliseconds. */
export interface BudgetQuestion {
  holder: BudgetHolder;
  budget: Budget;
  at: number;
}

/** A budget's state; null while Redis has lost its data, which the operator restores. */
export const readKeptBudget = async (
  redis: RedisClient,
  namespace: string,
  question: BudgetQuestion,
): Promise<BudgetState | null> => {
  const state = await readBudget(redis, namespace, question);
  return (await readEpoch(redis)) === null ? null : state;
};

/** A budget's state at a time. */
export async function readBudget(
  redis: RedisClient,
  namespace: string,
  { holder, budget, at }: BudgetQuestion,
): Promise<BudgetState> {
  const counter = nameCounter(holder, budget.period, at);
  const spent = Math.max(0, await readCounter(redis, workKeys(namespace).spent(counter)));
  return {
    spentMicros: spent,
    percent: percentOf(spent, budget.micros),
    periodEndsAt: findPeriod(budget.period, at).endsAt,
  };
}

/** What a status says of a budget after Redis lost its data. */
export interface RememberedBudget {
  holder: BudgetHolder;
  budget: Budget;
  spentMicros: number;
  /** Unix milliseconds. */
  periodEndsAt: number;
}

/** As long as `budget.lua` keeps a counter after its period. */
const REFUND_MS = 26 * 86_400_000;

/**
 * Adds what Redis lost of a workspace's budgets to what was spent since; counters that have as much stay, so it may be
 * repeated. `at`: Unix milliseconds. Periods that have ended are ignored. Percentages that were reached do not warn again.
 */
export async function restoreBudgets(
  redis: RedisClient,
  namespace: string,
  { budgets, at }: { budgets: readonly RememberedBudget[]; at: number },
): Promise<void> {
  await Promise.all(budgets.map((remembered) => restoreBudget(redis, namespace, { ...remembered, at })));
}

async function restoreBudget(
  redis: RedisClient,
  namespace: string,
  { holder, budget, spentMicros, periodEndsAt, at }: RememberedBudget & { at: number },
): Promise<void> {
  const { endsAt } = findPeriod(budget.period, at);
  if (endsAt !== periodEndsAt || !isCount(spentMicros) || spentMicros === 0) return;
  const counter = nameCounter(holder, budget.period, at);
  const { spent, warned } = workKeys(namespace);
  const ttlMs = endsAt - at + REFUND_MS;
  const percent = percentOf(spentMicros, budget.micros);
  const reached = Math.max(0, ...budget.warnAt.filter((threshold) => threshold <= percent));
  if (reached > 0) await redis.set(warned(nameWarnings(counter, budget)), reached, 'PX', ttlMs);
  const isExact = (value: unknown) => isCount(value) && (value as number) >= spentMicros;
  try {
    if (isExact(await readCounter(redis, spent(counter)))) return;
    const [sum] = await execute(
      redis.multi().incrby(spent(counter), spentMicros).pexpire(spent(counter), ttlMs),
    );
    if (isExact(sum)) return;
  } catch (error) {
    if (isRedisAway(error)) throw error;
  }
  // A workspace's Redis user has written something else: it must keep no other workspace from being published.
  await redis.set(spent(counter), spentMicros, 'PX', ttlMs);
}
