/** What budgets have spent. */
import { type Budget, type BudgetHolder, findPeriod, nameCounter, percentOf } from '../../api/budget.ts';
import { workKeys } from '../../api/redis-keys.ts';
import { execute, type RedisClient } from '../client.ts';
import { readEpoch } from '../publication/published.ts';
import { readCounter } from '../untrusted-values.ts';

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
  const keys = workKeys(namespace);
  await Promise.all(
    budgets.map(async ({ holder, budget, spentMicros, periodEndsAt }) => {
      const { endsAt } = findPeriod(budget.period, at);
      if (endsAt !== periodEndsAt || spentMicros <= 0) return;
      const counter = nameCounter(holder, budget.period, at);
      const ttlMs = endsAt - at + REFUND_MS;
      const percent = percentOf(spentMicros, budget.micros);
      const warned = Math.max(0, ...budget.warnAt.filter((threshold) => threshold <= percent));
      if ((await readCounter(redis, keys.spent(counter))) >= spentMicros) return;
      const batch = redis
        .multi()
        .incrby(keys.spent(counter), spentMicros)
        .pexpire(keys.spent(counter), ttlMs);
      if (warned > 0) batch.set(keys.warned(counter), warned, 'PX', ttlMs);
      await execute(batch);
    }),
  );
}
