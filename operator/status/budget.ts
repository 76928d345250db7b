/** Budgets in statuses: traffic changes them all the time, so they follow at most once a minute. */
import { formatAmount, parseAmount } from '../../api/amount.ts';
import type { BudgetHolder } from '../../api/budget.ts';
import { type BudgetSpec, type BudgetStatus, toBudget } from '../../api/budget-spec.ts';
import type { BudgetQuestion, BudgetState, RememberedBudget } from '../../redis/admission/budgets.ts';

/** A budget's state in Redis; null while Redis has lost its data. Throws while it is unavailable. */
export type ReadBudget = (namespace: string, question: BudgetQuestion) => Promise<BudgetState | null>;

export const BUDGET_INTERVAL_MS = 60_000;

interface Read {
  status: BudgetStatus;
  /** What it was read for: another budget is read at once. */
  spec: string;
  at: number;
}

/** States of budgets as last read, by whatever names them. */
export class BudgetStates {
  readonly #read = new Map<string, Read>();
  readonly #context: { readBudget: ReadBudget; now: () => number };

  constructor(context: { readBudget: ReadBudget; now: () => number }) {
    this.#context = context;
  }

  /** `known`: what the status says, which stays while Redis is unavailable or has lost its data. */
  async find(
    namespace: string,
    holder: BudgetHolder,
    { budget, known }: { budget: BudgetSpec; known: BudgetStatus | undefined },
  ): Promise<BudgetStatus | undefined> {
    const { readBudget, now } = this.#context;
    const key = `${namespace}/${holder.kind}/${holder.name}`;
    const spec = JSON.stringify(budget);
    const last = this.#read.get(key);
    if (last?.spec === spec && now() - last.at < BUDGET_INTERVAL_MS) return last.status;
    const at = now();
    const state = await readBudget(namespace, { holder, budget: toBudget(budget), at }).catch(() => null);
    if (!state) return known;
    const status = {
      spent: formatAmount(state.spentMicros),
      percent: state.percent,
      periodEndsAt: new Date(state.periodEndsAt).toISOString(),
    };
    this.#read.set(key, { status, spec, at });
    return status;
  }

  forget(namespace: string, { kind, name }: BudgetHolder): void {
    this.#read.delete(`${namespace}/${kind}/${name}`);
  }
}

/** What a status says, to restore; none if it says nothing. */
export const rememberBudget = (
  holder: BudgetHolder,
  budget: BudgetSpec,
  status: BudgetStatus | undefined,
): RememberedBudget[] =>
  status
    ? [
        {
          holder,
          budget: toBudget(budget),
          spentMicros: parseAmount(status.spent),
          periodEndsAt: Date.parse(status.periodEndsAt),
        },
      ]
    : [];
