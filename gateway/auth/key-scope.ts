/** What a key may call, and which of its budgets is used up (docs/budgets.md, "When a budget is used up"). Pure. */
import { formatAmount } from '../../api/amount.ts';
import type { BoundingBudget, BudgetPeriod } from '../../api/budget.ts';
import type { Admission, AdmissionRequest } from '../../redis/admission/admission-calls.ts';
import { ApiError } from '../http/error-response.ts';
import { refuseAsUnavailable } from '../http/unavailability.ts';

export type KeyScope = Admission['deployments'];

export type DeploymentRequest = AdmissionRequest & {
  /** The one that is called; absent: any. */
  deployment?: string | undefined;
  /** `Route.spendsLater`. */
  spendsLater?: boolean | undefined;
  /** Millionths of the key that are settled in another way. */
  unsettledMicros?: (() => number) | undefined;
};

/** null: the key may call the deployment. */
export function findForeignDeployment(scope: KeyScope, deployment: string): ApiError | null {
  if (!scope || scope.includes(deployment)) return null;
  return new ApiError(
    'permission_denied',
    `This API key may not call the deployment ${deployment}. It may call: ${scope.join(', ')}.`,
  );
}

const PERIODS: Record<BudgetPeriod, string> = { Day: 'day', Week: 'week', Month: 'month' };

/** For people: whose budget it is, and when its next period begins. */
export function explainBudget({ kind, name, micros, period, endsAt }: BoundingBudget): string {
  const whose = kind === 'owner' ? `owner ${name} of this API key` : 'API key';
  const next = new Date(endsAt * 1_000).toISOString().replace('.000Z', 'Z');
  return `The budget of ${kind === 'owner' ? 'the' : 'this'} ${whose} is used up: ${formatAmount(micros)} per ${PERIODS[period]}. The next period begins at ${next}.`;
}

export const refuseBudget = (budget: BoundingBudget): ApiError =>
  refuseAsUnavailable('credit', explainBudget(budget));

const PAYMENT_REQUIRED = 402;

/** On media routes. */
export const refuseCharge = (refusal: 'credit' | BoundingBudget): ApiError =>
  new ApiError(
    'insufficient_quota',
    refusal === 'credit'
      ? 'Insufficient workspace credit for this request.'
      : `This request costs more than what is left. ${explainBudget(refusal)}`,
    { status: PAYMENT_REQUIRED },
  );
