/** Resends the events of ended deliveries. */
import { deliveryKeys, FUNCTIONS } from '../../api/redis-keys.ts';
import type { RedisClient } from '../client.ts';
import { deriveDeliveryId, deriveDestination } from './delivery-calls.ts';

export type ResendAnswer = 'done' | 'unknown' | 'pending' | 'expired' | 'full';

export interface Resend {
  id: string;
  eventId: string;
  /** Its own, or its endpoint's current one. */
  url: string;
}

/** The function's limit per call, and its 128 KiB minus room for the namespace. */
const MAX_RESENDS = 50;
const MAX_RESEND_BYTES = 120 * 1024;

/** Resends the events of ended deliveries; returns results in their order. */
export async function resendDeliveries(
  redis: RedisClient,
  namespace: string,
  resends: readonly Resend[],
): Promise<ResendAnswer[]> {
  const answers: ResendAnswer[] = [];
  for (const batch of batchRows(resends.map(describeResend)))
    answers.push(
      ...((await redis.fcall(
        FUNCTIONS.resend,
        1,
        deliveryKeys(namespace).destinations,
        namespace,
        ...batch.flat(),
      )) as ResendAnswer[]),
    );
  return answers;
}

const describeResend = ({ id, eventId, url }: Resend): string[] => [
  id,
  deriveDeliveryId(eventId, url),
  deriveDestination(url),
  url,
];

function batchRows(rows: readonly string[][]): string[][][] {
  const batches: string[][][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const row of rows) {
    const rowBytes = Buffer.byteLength(row.join(''));
    if (bytes + rowBytes > MAX_RESEND_BYTES || batches.at(-1)!.length === MAX_RESENDS) {
      batches.push([]);
      bytes = 0;
    }
    batches.at(-1)!.push(row);
    bytes += rowBytes;
  }
  return batches;
}
