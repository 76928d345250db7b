/** Resends the events of ended deliveries. */
import { deliveryKeys } from '../../api/redis-keys.ts';
import type { RedisClient } from '../client.ts';
import { callFunction, type Replies, SIGNATURES } from '../function-table.ts';
import { describeTarget } from './delivery-calls.ts';

export type ResendAnswer = Replies['resend'][number];

export interface Resend {
  id: string;
  eventId: string;
  /** Its own, or its endpoint's current one. */
  url: string;
}

const MAX_RESENDS = SIGNATURES.resend.rest.most;
/** With room for the namespace. */
const MAX_RESEND_BYTES = SIGNATURES.resend.bytes - 8 * 1024;

/** Resends the events of ended deliveries; returns results in their order. */
export async function resendDeliveries(
  redis: RedisClient,
  namespace: string,
  resends: readonly Resend[],
): Promise<ResendAnswer[]> {
  const { destinations } = deliveryKeys(namespace);
  const rows = resends.map(({ id, eventId, url }) => [id, ...describeTarget(eventId, url)]);
  const answers: ResendAnswer[] = [];
  for (const batch of batchRows(rows))
    answers.push(...(await callFunction(redis, 'resend', [destinations], { namespace }, batch.flat())));
  return answers;
}

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
