/** Typed calls of the functions that deliver webhooks (docs/webhooks.md); the front makes them. */
import { createHash } from 'node:crypto';
import { deliveryKeys, workKeys } from '../../api/redis-keys.ts';
import { BUDGET_WARNING, type EventType } from '../../api/request.ts';
import { execute, type RedisClient } from '../client.ts';
import { callFunction, LIMITS } from '../function-table.ts';

export interface OutboxEvent {
  /** `evt_…`, the same on all deliveries (docs/api.md, "Webhook event"). */
  id: string;
  type: EventType;
  /** '' for one of a budget. */
  requestId: string;
  /** The request's own callback; null = none. */
  webhookUrl: string | null;
  /** The bytes to send, at most 64 KiB. */
  body: string;
}

/** A longer row was made by a tenant and is dropped. */
const { MAX_ROW_BYTES } = LIMITS;
/** Start of a body from the functions: matched as text, since a tenant may have written any amount of JSON. */
const BODY =
  /^\{"id":"(evt_\w{1,60})","type":"(request\.(?:completed|failed|canceled)|batch\.(?:completed|failed|expired|cancelled))","created_at":\d{1,12},"data":\{"id":"((?:req|batch)_\w{1,60})"/;

const BUDGET_BODY = /^\{"id":"(evt_\w{1,60})","type":"budget\.warning","created_at":\d{1,12},"data":\{/;
const MAX_BUDGET_BYTES = 2_048;

/** Due events, oldest first; those not removed within `leaseMs` are returned again. */
export async function takeEvents(
  redis: RedisClient,
  namespace: string,
  { limit, leaseMs }: { limit: number; leaseMs: number },
): Promise<OutboxEvent[]> {
  const keys = workKeys(namespace);
  const ids = await callFunction(redis, 'takeDue', [keys.outbox], { limit, leaseMs });
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
  if (body.length <= MAX_BUDGET_BYTES && BUDGET_BODY.exec(body)?.[1] === id)
    return { id, type: BUDGET_WARNING, requestId: '', webhookUrl: null, body };
  const [, eventId, type, requestId] = BODY.exec(body) ?? [];
  if (eventId !== id || !type || !requestId) return null;
  return { id, type: type as EventType, requestId, webhookUrl: row.slice(0, end) || null, body };
}

/** Removes events from the outbox permanently. */
export async function removeEvents(
  redis: RedisClient,
  namespace: string,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  const keys = workKeys(namespace);
  const batch = redis.multi().zrem(keys.outbox, ...ids);
  await execute(batch.del(...ids.map(keys.event)));
}

/** One destination of an event. */
export interface DeliveryTarget {
  /** Normalized, so that equal addresses are equal texts. */
  url: string;
  /** Name of the WebhookEndpoint; '' = the request's own callback. */
  endpoint: string;
}

export interface ExpandableEvent {
  namespace: string;
  id: string;
  type: string;
  /** '' for a test event, or one of a budget. */
  requestId: string;
  /** Only for a test event; others' are in the outbox. */
  testBody?: string;
}

/** Normalized spelling of an address; null if it is not a URL. */
export function normalizeURL(text: string): string | null {
  const url = URL.parse(text);
  if (!url) return null;
  url.hash = '';
  return url.href;
}

/** The same for every attempt, and for every front that makes it (docs/api.md, "Webhooks"). */
export const deriveDeliveryId = (eventId: string, url: string): string =>
  `dlv_${createHash('sha256').update(`${eventId}\n${url}`).digest('hex').slice(0, 32)}`;

/** Deliveries to one address wait only for each other. */
const deriveDestination = (url: string): string =>
  createHash('sha256').update(url).digest('hex').slice(0, 24);

/** Id, destination and URL of a delivery. */
export const describeTarget = (eventId: string, url: string): string[] => [
  deriveDeliveryId(eventId, url),
  deriveDestination(url),
  url,
];

/**
 * Removes an event from the outbox and creates its deliveries, atomically. Returns their number; null while
 * the workspace's deliveries hold too much, and the event stays in the outbox.
 */
export async function expandEvent(
  redis: RedisClient,
  { namespace, id, type: eventType, requestId, testBody = '' }: ExpandableEvent,
  targets: readonly DeliveryTarget[],
): Promise<number | null> {
  const args = { namespace, id, eventType, requestId, testBody };
  const rest = targets.flatMap(({ url, endpoint }) => [...describeTarget(id, url), endpoint]);
  return callFunction(redis, 'expand', [workKeys(namespace).outbox], args, rest);
}

export interface LeasedDelivery {
  namespace: string;
  id: string;
  /** 1 to 3. */
  attempt: number;
  eventId: string;
  type: string;
  requestId: string;
  url: string;
  endpoint: string;
  isTest: boolean;
  body: string;
}

/** A delivery whose last attempt failed. */
export type AbandonedDelivery = Omit<LeasedDelivery, 'attempt' | 'body'>;

export interface DeliveryLeases {
  leased: LeasedDelivery[];
  abandoned: AbandonedDelivery[];
  /** Milliseconds until more are due; null = none. */
  nextInMs: number | null;
}

export async function leaseDeliveries(
  redis: RedisClient,
  namespace: string,
  { limit, perDestination, leaseMs }: { limit: number; perDestination: number; leaseMs: number },
): Promise<DeliveryLeases> {
  const { destinations } = deliveryKeys(namespace);
  const args = { namespace, limit, perDestination, leaseMs };
  const [nextInMs, rows] = await callFunction(redis, 'leaseDeliveries', [destinations], args);
  const leases: DeliveryLeases = { leased: [], abandoned: [], nextInMs: nextInMs < 0 ? null : nextInMs };
  for (const [id, attempt, eventId, type, requestId, url, endpoint, test, body] of rows) {
    const delivery = {
      namespace,
      id,
      eventId: eventId!,
      type: type!,
      requestId: requestId!,
      url: url!,
      endpoint: endpoint!,
      isTest: test === '1',
    };
    if (attempt === 'given_up') leases.abandoned.push(delivery);
    else leases.leased.push({ ...delivery, attempt: Number(attempt), body: body! });
  }
  return leases;
}

export interface Attempt {
  isDelivered: boolean;
  /** Status of the response; null if there was none. */
  status: number | null;
  /** One of a fixed set; '' if delivered. */
  error: string;
  /** After a failure, until the next attempt or the end. */
  waitMs: number;
  /** null: nothing was sent. */
  exchange: DeliveryExchange | null;
}

/** Request and response, for diagnosis. */
export interface DeliveryExchange {
  /** Unix milliseconds of the sender, as used in the signatures. */
  sentAt: number;
  tookMs: number;
  /** Those that are kept; none without a response. */
  answerHeaders: Record<string, string>;
}

/** False: the attempt took too long, and another front has the delivery. */
export async function settleDelivery(
  redis: RedisClient,
  { namespace, id, url, attempt }: LeasedDelivery,
  { isDelivered, status, error, waitMs, exchange }: Attempt,
): Promise<boolean> {
  const args = {
    ...{ namespace, id, attempt, waitMs, fault: error },
    destination: deriveDestination(url),
    isDelivered: isDelivered ? '1' : '',
    status: status ?? '',
    exchange: exchange === null ? '' : JSON.stringify(exchange),
  };
  const { destinations } = deliveryKeys(namespace);
  return (await callFunction(redis, 'settleDelivery', [destinations], args)) === 'done';
}
