/** Where a request stands in its deployment's queue, as far as turns, priorities and the pace so far tell. */
import { workKeys } from '../../api/redis-keys.ts';
import type { RedisClient } from '../client.ts';
import { callFunction } from '../function-table.ts';

export interface QueuePlace {
  /** From 1 on: what is expected to start before it, and itself; null: too many API keys wait. */
  position: number | null;
  /** Requests that wait, of all API keys, with those that lost their replica. */
  queued: number;
  /** Until it starts, if jobs take as long as before; null: nothing runs, or no job has ended yet. */
  startsInMs: number | null;
}

/** null unless it is queued. */
export async function readQueuePlace(
  redis: RedisClient,
  namespace: string,
  id: string,
): Promise<QueuePlace | null> {
  const place = await callFunction(redis, 'place', [workKeys(namespace).request(id)], { namespace, id });
  if (!place) return null;
  const [ahead, queued, running, averageMs] = place;
  const isKnown = ahead >= 0;
  return {
    position: isKnown ? ahead + 1 : null,
    queued,
    startsInMs:
      isKnown && running > 0 && averageMs !== '' ? Math.ceil(((ahead + 1) / running) * averageMs) : null,
  };
}
