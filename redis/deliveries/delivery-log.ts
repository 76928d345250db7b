/** Reads the log of webhook deliveries, and the health of endpoints. */
import { randomBytes } from 'node:crypto';
import { deliveryKeys } from '../../api/redis-keys.ts';
import { execute, type RedisClient } from '../client.ts';
import type { DeliveryExchange } from './delivery-calls.ts';

export interface DeliveryRecord {
  id: string;
  eventId: string;
  type: string;
  /** '' of a test event. */
  requestId: string;
  url: string;
  /** Name of the WebhookEndpoint; '' = the request's own callback. */
  endpoint: string;
  isTest: boolean;
  state: 'pending' | 'delivered' | 'failed';
  attempts: number;
  /** Status of the latest response. */
  status: number | null;
  error: string;
  /** Unix milliseconds. */
  createdAt: number;
  endedAt: number | null;
}

/** A page of the log (docs/api.md, "Webhooks"). */
export const DELIVERY_PAGE = 200;

/** A page of a workspace's deliveries, newest first, after the one with the id `after`, if given. */
export async function readDeliveryLog(
  redis: RedisClient,
  namespace: string,
  { after, limit = DELIVERY_PAGE }: { after?: string; limit?: number } = {},
): Promise<DeliveryRecord[]> {
  const keys = deliveryKeys(namespace);
  const rank = after === undefined ? -1 : await redis.zrevrank(keys.log, after);
  // The log's end was trimmed meanwhile: restarting from its beginning, a reader of all pages would never end.
  if (rank === null) return [];
  const start = rank + 1;
  const ids = await redis.zrevrange(keys.log, start, start + limit - 1);
  const records = await Promise.all(ids.map((id) => redis.hgetall(keys.delivery(id))));
  return records.flatMap((fields, index) => (fields.event ? decodeDelivery(ids[index]!, fields) : []));
}

export interface LoggedAttempt {
  /** Unix milliseconds; when it ended. */
  at: number;
  status: number | null;
  error: string;
  /** null: nothing was sent, or by an older front. */
  exchange: DeliveryExchange | null;
}

/** The payload of a delivery's event, null if no longer kept; and its latest attempts, oldest first. */
export async function readDeliveryDetail(
  redis: RedisClient,
  namespace: string,
  { id, eventId }: Pick<DeliveryRecord, 'id' | 'eventId'>,
): Promise<{ body: string | null; attempts: LoggedAttempt[] }> {
  const keys = deliveryKeys(namespace);
  const [body, rows] = await Promise.all([
    redis.get(keys.body(eventId)),
    redis.lrange(keys.attempts(id), 0, -1),
  ]);
  return { body, attempts: rows.map(decodeAttempt) };
}

function decodeAttempt(row: string): LoggedAttempt {
  const { at, code, error, exchange } = JSON.parse(row) as Record<string, string> & { at: number };
  return {
    at,
    status: code ? Number(code) : null,
    error: error ?? '',
    exchange: exchange ? (JSON.parse(exchange) as DeliveryExchange) : null,
  };
}

/** For a deleted workspace: the next one with its name must not see where this one's events went. */
export async function forgetDeliveries(redis: RedisClient, namespace: string): Promise<void> {
  const keys = deliveryKeys(namespace);
  const [ids, events] = await Promise.all([
    redis.zrevrange(keys.log, 0, -1),
    redis.zrange(keys.kept, 0, '-1'),
  ]);
  const records = ids.flatMap((id) => [keys.delivery(id), keys.attempts(id)]);
  await redis.del(keys.log, keys.held, keys.pending, keys.kept, ...records, ...events.map(keys.body));
}

/** null when unknown or expired. */
export async function readDelivery(
  redis: RedisClient,
  namespace: string,
  id: string,
): Promise<DeliveryRecord | null> {
  const fields = await redis.hgetall(deliveryKeys(namespace).delivery(id));
  return fields.event ? decodeDelivery(id, fields) : null;
}

function decodeDelivery(id: string, fields: Record<string, string>): DeliveryRecord {
  return {
    id,
    eventId: fields.event!,
    type: fields.type!,
    requestId: fields.request!,
    url: fields.url!,
    endpoint: fields.endpoint!,
    isTest: fields.test === '1',
    state: fields.state as DeliveryRecord['state'],
    attempts: Number(fields.attempts),
    status: fields.code ? Number(fields.code) : null,
    error: fields.error ?? '',
    createdAt: Number(fields.created_at),
    endedAt: fields.ended_at ? Number(fields.ended_at) : null,
  };
}

export interface EndpointHealth {
  /** Consecutive permanently failed deliveries. */
  failures: number;
  /** Unix milliseconds; null while it is not disabled because of them. */
  disabledAt: number | null;
}

/**
 * Written when an endpoint is first read: if it is missing, Redis lost its data. Its value identifies the count,
 * so that deliveries from before a change of the URL or a re-enabling no longer count.
 */
const KNOWN = 'known';
const nameCount = (): string => randomBytes(8).toString('hex');

export async function readEndpointHealth(
  redis: RedisClient,
  namespace: string,
  name: string,
): Promise<EndpointHealth> {
  const { failures, disabled_at } = await redis.hgetall(deliveryKeys(namespace).endpoint(name));
  return { failures: Number(failures ?? 0), disabledAt: disabled_at ? Number(disabled_at) : null };
}

/** Whether Redis still has an endpoint's count, even if zero. */
export async function knowsEndpoint(redis: RedisClient, namespace: string, name: string): Promise<boolean> {
  return (await redis.hexists(deliveryKeys(namespace).endpoint(name), KNOWN)) === 1;
}

/** Restores lost counts from an object's status; does nothing if Redis still has them. */
export async function restoreEndpointHealth(
  redis: RedisClient,
  namespace: string,
  name: string,
  { failures, disabledAt }: EndpointHealth,
): Promise<void> {
  const key = deliveryKeys(namespace).endpoint(name);
  const batch = redis.multi().hsetnx(key, KNOWN, nameCount());
  if (failures > 0) batch.hsetnx(key, 'failures', failures);
  if (disabledAt !== null) batch.hsetnx(key, 'disabled_at', disabledAt);
  await execute(batch);
}

/** Resets an endpoint's failures: it was re-enabled or changed. */
export async function resetEndpointHealth(
  redis: RedisClient,
  namespace: string,
  name: string,
): Promise<void> {
  const key = deliveryKeys(namespace).endpoint(name);
  await execute(redis.multi().del(key).hset(key, KNOWN, nameCount()));
}

/** For a deleted endpoint. */
export async function forgetEndpoint(redis: RedisClient, namespace: string, name: string): Promise<void> {
  await redis.del(deliveryKeys(namespace).endpoint(name));
}
