/**
 * Budgets in statuses. Traffic changes them all the time, so they are read about once a minute, and follow when the whole percent
 * changes, else every five minutes: the statuses of many busy keys would keep the API server writing.
 */
import { formatAmount, parseAmount } from '../../api/amount.ts';
import type { BudgetHolder } from '../../api/budget.ts';
import { type BudgetSpec, type BudgetStatus, toBudget } from '../../api/budget-spec.ts';
import type { BudgetQuestion, BudgetState, RememberedBudget } from '../../redis/admission/budgets.ts';

/** A budget's state in Redis; null while Redis has lost its data. Throws while it is unavailable. */
export type ReadBudget = (namespace: string, question: BudgetQuestion) => Promise<BudgetState | null>;

const READ_INTERVAL_MS = 60_000;
const WRITE_INTERVAL_MS = 5 * READ_INTERVAL_MS;
/** So much longer at most, by chance: keys that were created together are not read together. */
const JITTER = 0.5;

interface Read {
  status: BudgetStatus;
  /** What it was read for: another budget is read at once. */
  spec: string;
  readAt: number;
  /** When the status got its amount. */
  changedAt: number;
}

interface BudgetStatesOptions {
  readBudget: ReadBudget;
  now: () => number;
  random?: () => number;
}

/** States of budgets as last told, by namespace and holder. */
export class BudgetStates {
  readonly #read = new Map<string, Map<string, Read>>();
  readonly #options: Required<BudgetStatesOptions>;

  constructor({ readBudget, now, random = Math.random }: BudgetStatesOptions) {
    this.#options = { readBudget, now, random };
  }

  /** When to ask again. */
  nextMs(): number {
    return Math.round(READ_INTERVAL_MS * (1 + JITTER * this.#options.random()));
  }

  /** `known`: what the status says, which stays while Redis is unavailable or has lost its data. */
  async find(
    namespace: string,
    holder: BudgetHolder,
    { budget, known }: { budget: BudgetSpec; known: BudgetStatus | undefined },
  ): Promise<BudgetStatus | undefined> {
    const { readBudget, now } = this.#options;
    const spec = JSON.stringify(budget);
    const last = this.#read.get(namespace)?.get(nameHolder(holder));
    const at = now();
    if (last?.spec === spec && at - last.readAt < READ_INTERVAL_MS) return last.status;
    const state = await readBudget(namespace, { holder, budget: toBudget(budget), at }).catch(() => null);
    if (!state) return known;
    const periodEndsAt = new Date(state.periodEndsAt).toISOString();
    const isSame =
      last?.spec === spec &&
      last.status.percent === state.percent &&
      last.status.periodEndsAt === periodEndsAt &&
      at - last.changedAt < WRITE_INTERVAL_MS;
    const status = isSame
      ? last.status
      : { spent: formatAmount(state.spentMicros), percent: state.percent, periodEndsAt };
    this.#keep(namespace, holder, { status, spec, readAt: at, changedAt: isSame ? last.changedAt : at });
    return status;
  }

  #keep(namespace: string, holder: BudgetHolder, read: Read): void {
    const holders = this.#read.get(namespace) ?? new Map<string, Read>();
    this.#read.set(namespace, holders.set(nameHolder(holder), read));
  }

  /** All of a namespace without a holder. */
  forget(namespace: string, holder?: BudgetHolder): void {
    const holders = this.#read.get(namespace);
    if (holder) holders?.delete(nameHolder(holder));
    if (!holder || holders?.size === 0) this.#read.delete(namespace);
  }
}

const nameHolder = ({ kind, name }: BudgetHolder): string => `${kind}:${name}`;

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
