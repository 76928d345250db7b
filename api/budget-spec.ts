/** Budgets and their owners in the specs and statuses of Berth's objects. */
import { z } from 'zod';
import { parseAmount } from './amount.ts';
import { BUDGET_PERIODS, type Budget } from './budget.ts';
import { amount } from './quantity.ts';

export const MAX_OWNERS = 100;
const MAX_WARNINGS = 5;

/** It is part of Redis keys, of metrics and of CSV. */
export const ownerName = (describe: string) =>
  z
    .string()
    .max(63)
    .regex(
      /^[A-Za-z0-9]([\w.@-]*[A-Za-z0-9])?$/,
      'must be letters, digits, ".", "_", "@" and "-", and begin and end with a letter or digit',
    )
    .describe(describe);

export const budgetSpec = z.object({
  amount: amount('What may be spent in one period, in the currency of prices.'),
  period: z
    .enum(BUDGET_PERIODS)
    .default('Month')
    .describe('Calendar period in UTC; weeks begin on Monday. Another period starts a new count.'),
  warnAt: z
    .array(z.int().min(1).max(100))
    .max(MAX_WARNINGS)
    .default([50, 80])
    .describe(
      'Percentages at which the event `budget.warning` and a mail to the owner of the workspace are sent.',
    ),
});
export type BudgetSpec = z.infer<typeof budgetSpec>;

export const budgetStatus = z.object({
  spent: z
    .string()
    .describe(
      'Spent in the current period, usually about a minute ago; at most five while `percent` stays the same.',
    ),
  percent: z.int().describe('Whole percent of the amount.'),
  periodEndsAt: z.string().describe('When the next period begins.'),
});
export type BudgetStatus = z.infer<typeof budgetStatus>;

export const toBudget = ({ amount: text, period, warnAt }: BudgetSpec): Budget => ({
  micros: parseAmount(text),
  period,
  warnAt,
});
