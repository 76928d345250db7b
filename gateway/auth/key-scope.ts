/** What a key may call, and which of its budgets is used up (docs/budgets.md, "When a budget is used up"). Pure. */
import { formatAmount } from '../../api/amount.ts';
import type { BoundingBudget, BudgetPeriod } from '../../api/budget.ts';
import type { Admission, AdmissionRequest } from '../../redis/admission/admission-calls.ts';
import { ApiError } from '../http/error-response.ts';
import { refuseAsUnavailable } from '../http/unavailability.ts';

/** Deployments that a refusal names. */
const MAX_LISTED = 5;

export type KeyScope = Admission['deployments'];

/** `deployment`: the one that is called; absent: any. */
export type DeploymentRequest = AdmissionRequest & { deployment?: string | undefined };

/** null: the key may call the deployment. */
export function findForeignDeployment(scope: KeyScope, deployment: string): ApiError | null {
  if (!scope || scope.includes(deployment)) return null;
  const more = scope.length > MAX_LISTED ? ` and ${scope.length - MAX_LISTED} more` : '';
  return new ApiError(
    'permission_denied',
    `This API key may not call the deployment ${deployment}. It may call: ${scope.slice(0, MAX_LISTED).join(', ')}${more}.`,
  );
}

const PERIODS: Record<BudgetPeriod, string> = { Day: 'day', Week: 'week', Month: 'month' };

/** For people: whose budget is used up, and when its next period begins. */
export const explainBudget = (budget: BoundingBudget): string =>
  `The budget of ${nameHolder(budget)} is used up: ${explainAmount(budget)}. ${explainEnd(budget)}`;

const explainPrice = (budget: BoundingBudget, leftMicros: number, priceMicros: number): string =>
  `This request costs ${formatAmount(priceMicros)}, but the budget of ${nameHolder(budget)} has ` +
  `${formatAmount(leftMicros)} left of ${explainAmount(budget)}. ${explainEnd(budget)}`;

const nameHolder = ({ kind, name }: BoundingBudget): string =>
  kind === 'owner' ? `the owner ${name} of this API key` : 'this API key';

const explainAmount = ({ micros, period }: BoundingBudget): string =>
  `${formatAmount(micros)} per ${PERIODS[period]}`;

const explainEnd = ({ endsAt }: BoundingBudget): string =>
  `The next period begins at ${new Date(endsAt * 1_000).toISOString().replace('.000Z', 'Z')}.`;

export const refuseBudget = (budget: BoundingBudget): ApiError =>
  refuseAsUnavailable('credit', explainBudget(budget));

const PAYMENT_REQUIRED = 402;

/** On media routes. */
export const refuseCharge = (refusal: 'credit' | BoundingBudget, priceMicros: number): ApiError =>
  new ApiError('insufficient_quota', explainCharge(refusal, priceMicros), { status: PAYMENT_REQUIRED });

function explainCharge(refusal: 'credit' | BoundingBudget, priceMicros: number): string {
  if (refusal === 'credit') return 'Insufficient workspace credit for this request.';
  const { leftMicros = 0 } = refusal;
  return leftMicros > 0 ? explainPrice(refusal, leftMicros, priceMicros) : explainBudget(refusal);
}
