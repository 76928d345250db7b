/** Charges for synchronous images; queued requests are charged by their submission. */
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
}

/** Debits a price. False: the workspace's credit is insufficient, and nothing was debited. */
export async function chargeWorkspace(
  redis: RedisClient,
  { namespace, token, micros, rememberSeconds = 0 }: CreditCharge,
): Promise<boolean> {
  const args = { namespace, price: Math.round(micros), rememberSeconds };
  return (await callFunction(redis, 'charge', [workKeys(namespace).charged(token)], args)) === 'ok';
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
