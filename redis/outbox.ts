/** Events that wait for delivery: the functions that end a request write them, the front takes them. */

import { FUNCTIONS, workKeys } from '../contract/redis-keys.ts';
import type { EventType } from '../contract/request.ts';
import type { RedisClient } from './client.ts';

export interface OutboxEvent {
  /** `evt_…`, the same on all deliveries (contract: Webhook event envelope). */
  id: string;
  type: EventType;
  requestId: string;
  /** The request's own callback; null = none. */
  webhookUrl: string | null;
  /** The bytes to send, at most 64 KiB. */
  body: string;
}

/** Events that are due, oldest first; those not removed within `leaseMs` come again. */
export async function takeEvents(
  redis: RedisClient,
  namespace: string,
  { limit, leaseMs }: { limit: number; leaseMs: number },
): Promise<OutboxEvent[]> {
  const keys = workKeys(namespace);
  const ids = (await redis.fcall(FUNCTIONS.takeDue, 1, keys.outbox, limit, leaseMs)) as string[];
  const rows = await Promise.all(ids.map((id) => redis.hgetall(keys.event(id))));
  const found = ids.flatMap((id, i) => decodeEvent(id, rows[i]!) ?? []);
  // Another front delivered it between the two steps.
  const missing = ids.filter((_, i) => rows[i]?.body === undefined);
  await removeEvents(redis, namespace, missing);
  return found;
}

function decodeEvent(id: string, row: Record<string, string>): OutboxEvent | null {
  if (row.body === undefined) return null;
  return {
    id,
    type: row.type as EventType,
    requestId: row.request!,
    webhookUrl: row.webhook_url || null,
    body: row.body,
  };
}

/** Takes events out of the outbox for good. */
export async function removeEvents(
  redis: RedisClient,
  namespace: string,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  const keys = workKeys(namespace);
  const batch = redis.multi().zrem(keys.outbox, ...ids);
  const replies = await batch.del(...ids.map(keys.event)).exec();
  for (const [error] of replies ?? []) if (error) throw error;
}
