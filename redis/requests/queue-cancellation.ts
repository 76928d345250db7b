/** Cancels what waits in a deployment's queue, part by part. */
import { randomBytes } from 'node:crypto';
import { MAX_LIST_LIMIT } from '../../api/request.ts';
import type { RedisClient } from '../client.ts';
import { cancelRequest } from './request-calls.ts';
import { listRequests } from './request-record.ts';

export interface CanceledPart {
  canceled: number;
  /** Unix milliseconds, for the next part: what is queued from then on stays. */
  before: number;
  /** More may be queued. */
  hasMore: boolean;
}

/** `before`: of the first part; absent in that one. If Redis fails in the middle, the next part reports it. */
export async function cancelQueued(
  redis: RedisClient,
  { namespace, deployment, before }: { namespace: string; deployment: string; before?: number | undefined },
): Promise<CanceledPart> {
  const cut = before ?? (await readTime(redis));
  const asked = { namespace, deployment, status: 'queued', limit: MAX_LIST_LIMIT, before: cut } as const;
  const records = await listRequests(redis, asked);
  let canceled = 0;
  for (const { id } of records)
    try {
      const claim = { namespace, id, token: randomBytes(16).toString('hex') };
      // Others have started, or ended, meanwhile.
      if ((await cancelRequest(redis, claim)).verdict === 'canceled') canceled++;
    } catch (error) {
      if (canceled === 0) throw error;
      return { canceled, before: cut, hasMore: true };
    }
  return { canceled, before: cut, hasMore: records.length === MAX_LIST_LIMIT };
}

/** By the clock that requests are queued by. */
async function readTime(redis: RedisClient): Promise<number> {
  const [seconds, micros] = await redis.time();
  return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
}
