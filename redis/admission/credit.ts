/** Charges for synchronous images; queued requests are charged by their submission. */
import { type BoundingBudget, decodeBounding } from '../../api/budget.ts';
import { workKeys } from '../../api/redis-keys.ts';
import type { RedisClient } from '../client.ts';
import { callFunction } from '../function-table.ts';

export interface CreditCharge {
  namespace: string;
  /** Unique to this charge, the same in its repeats and its refund. */
  token: string;
  /** Millionths; 0 only checks whether the workspace may still spend. */
  micros: number;
  /** How long it can be refunded: at least and by default 20 minutes, at most 25 days. */
  rememberSeconds?: number;
  /** `KeyBudgets.text` of the admission. */
  budgets?: string | undefined;
}

/** Where a price does not fit, and nothing was debited: the workspace's credit, or a budget. */
export type ChargeRefusal = 'credit' | BoundingBudget;

/** Debits a price; null: it is debited. */
export async function chargeWorkspace(
  redis: RedisClient,
  { namespace, token, micros, rememberSeconds = 0, budgets }: CreditCharge,
): Promise<ChargeRefusal | null> {
  const args = { namespace, price: Math.round(micros), rememberSeconds, ...(budgets && { budgets }) };
  const verdict = await callFunction(redis, 'charge', [workKeys(namespace).charged(token)], args);
  if (verdict === 'ok') return null;
  return verdict === 'credit' ? verdict : decodeBounding(verdict.slice('budget '.length));
}

/**
 * Refunds a charge, whatever the result of the charge's own call. False: nothing had been charged, or it was refunded
 * before.
 */
export async function refundWorkspace(
  redis: RedisClient,
  { namespace, token }: Pick<CreditCharge, 'namespace' | 'token'>,
): Promise<boolean> {
  return (await callFunction(redis, 'refund', [workKeys(namespace).charged(token)], { namespace })) === 1;
}
