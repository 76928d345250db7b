/** Events that wait for delivery: the functions that end a request write them, the front takes them. */

import { FUNCTIONS, workKeys } from '../../api/redis-keys.ts';
import type { EventType } from '../../api/request.ts';
import type { RedisClient } from '../client.ts';

export interface OutboxEvent {
  /** `evt_…`, the same on all deliveries (docs/api.md, "Webhook event"). */
  id: string;
  type: EventType;
  requestId: string;
  /** The request's own callback; null = none. */
  webhookUrl: string | null;
  /** The bytes to send, at most 64 KiB. */
  body: string;
}

/** A body of 64 KiB and a URL, as the functions have it; a row that a tenant made longer is dropped. */
const MAX_ROW_BYTES = 72 * 1024;
/** How the functions begin a body: read as text, since a tenant may have written any JSON, and much of it. */
const BODY =
  /^\{"id":"(evt_\w{1,60})","type":"(request\.(?:completed|failed|canceled))","created_at":\d{1,12},"data":\{"id":"(req_\w{1,60})"/;

/** Events that are due, oldest first; those not removed within `leaseMs` come again. */
export async function takeEvents(
  redis: RedisClient,
  namespace: string,
  { limit, leaseMs }: { limit: number; leaseMs: number },
): Promise<OutboxEvent[]> {
  const keys = workKeys(namespace);
  const ids = (await redis.fcall(FUNCTIONS.takeDue, 1, keys.outbox, limit, leaseMs)) as string[];
  const rows = await Promise.all(ids.map((id) => redis.getrange(keys.event(id), 0, MAX_ROW_BYTES)));
  const found = ids.flatMap((id, i) => decodeEvent(id, rows[i] ?? '') ?? []);
  // Unreadable: another front removed it in the meantime, or a tenant forged it.
  const read = new Set(found.map(({ id }) => id));
  await removeEvents(
    redis,
    namespace,
    ids.filter((id) => !read.has(id)),
  );
  return found;
}

function decodeEvent(id: string, row: string): OutboxEvent | null {
  const end = row.indexOf('\n');
  if (end < 0 || Buffer.byteLength(row) > MAX_ROW_BYTES) return null;
  const body = row.slice(end + 1);
  const [, eventId, type, requestId] = BODY.exec(body) ?? [];
  if (eventId !== id || !type || !requestId) return null;
  return { id, type: type as EventType, requestId, webhookUrl: row.slice(0, end) || null, body };
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
