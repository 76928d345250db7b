/** Typed calls of the functions that deliver webhooks (docs/webhooks.md); the front makes them. */
import { createHash } from 'node:crypto';
import { deliveryKeys, FUNCTIONS, workKeys } from '../../api/redis-keys.ts';
import type { RedisClient } from '../client.ts';

/** One place that one event goes to. */
export interface DeliveryTarget {
  /** Normalised, so that equal addresses are equal texts. */
  url: string;
  /** Name of the WebhookEndpoint; '' = the request's own callback. */
  endpoint: string;
}

export interface ExpandableEvent {
  namespace: string;
  id: string;
  type: string;
  /** '' for a test event. */
  requestId: string;
  /** Of a test event alone; others' lie in the outbox. */
  testBody?: string;
}

/** One spelling for equal addresses; null for what is no URL. */
export function normalizeURL(text: string): string | null {
  const url = URL.parse(text);
  if (!url) return null;
  url.hash = '';
  return url.href;
}

/** The same for every attempt, and for every front that makes it (docs/api.md, "Webhooks"). */
export const deriveDeliveryId = (eventId: string, url: string): string =>
  `dlv_${createHash('sha256').update(`${eventId}\n${url}`).digest('hex').slice(0, 32)}`;

/** Deliveries to one address wait for each other only. */
const deriveDestination = (url: string): string =>
  createHash('sha256').update(url).digest('hex').slice(0, 24);

/** Takes an event out of the outbox and makes its deliveries, in one step. Answers how many there are to make. */
export async function expandEvent(
  redis: RedisClient,
  { namespace, id, type, requestId, testBody = '' }: ExpandableEvent,
  targets: readonly DeliveryTarget[],
): Promise<number> {
  return (await redis.fcall(
    FUNCTIONS.expand,
    1,
    workKeys(namespace).outbox,
    namespace,
    id,
    type,
    requestId,
    testBody,
    ...targets.flatMap(({ url, endpoint }) => [
      deriveDeliveryId(id, url),
      deriveDestination(url),
      url,
      endpoint,
    ]),
  )) as number;
}

export type ResendAnswer = 'done' | 'unknown' | 'pending' | 'expired';

export interface Resend {
  id: string;
  eventId: string;
  /** Its own, or where its endpoint leads now. */
  url: string;
}

/** As many as one call of the function takes, and of its 128 KiB what leaves room for the namespace. */
const MAX_RESENDS = 50;
const MAX_RESEND_BYTES = 120 * 1024;

/** Sends the events of ended deliveries once more; answers in their order. */
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
  /** Milliseconds until more is due; null = nothing is. */
  nextInMs: number | null;
}

export async function leaseDeliveries(
  redis: RedisClient,
  namespace: string,
  { limit, perDestination, leaseMs }: { limit: number; perDestination: number; leaseMs: number },
): Promise<DeliveryLeases> {
  const key = deliveryKeys(namespace).destinations;
  const [nextInMs, rows] = (await redis.fcall(
    FUNCTIONS.leaseDeliveries,
    1,
    key,
    namespace,
    limit,
    perDestination,
    leaseMs,
  )) as [number, [string, number | string, ...string[]][]];
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
  /** Of the answer; null when there was none. */
  status: number | null;
  /** One of a fixed set; '' when it was delivered. */
  error: string;
  /** After a failure, until the next attempt or the end. */
  waitMs: number;
}

/** False: the attempt took too long, and another front has the delivery. */
export async function settleDelivery(
  redis: RedisClient,
  { namespace, id, url, attempt }: LeasedDelivery,
  { isDelivered, status, error, waitMs }: Attempt,
): Promise<boolean> {
  const answer = await redis.fcall(
    FUNCTIONS.settleDelivery,
    1,
    deliveryKeys(namespace).destinations,
    namespace,
    deriveDestination(url),
    id,
    attempt,
    isDelivered ? '1' : '',
    status ?? '',
    error,
    waitMs,
  );
  return answer === 'done';
}
