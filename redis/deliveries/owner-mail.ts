/** Failed callbacks that a workspace's owner is notified of. */
import { deliveryKeys } from '../../api/redis-keys.ts';
import { execute, type RedisClient } from '../client.ts';
import { callFunction } from '../function-table.ts';

/** As written by the function that fails a delivery permanently. */
export interface AbandonedCallback {
  delivery: string;
  event: string;
  type: string;
  request: string;
  url: string;
  /** Error of the last attempt. */
  error: string;
  /** When it failed permanently, in Unix milliseconds. */
  at: number;
  /** The event of a budget, which is no callback: only `event`, `type` and `at` say something then. */
  body?: string;
}

export interface DueMail {
  callback: AbandonedCallback;
  /** For `removeMail`. */
  member: string;
}

const LEASE_MS = 60_000;
const MARKER_SECONDS = 7 * 86_400;
/** Stands in a marker, in place of the sender. */
const DONE = 'done';
const HOUR_SECONDS = 3_600;
const MAX_DIGEST_ENTRIES = 1_000;

/** Callbacks with pending notifications; those not removed within a minute are returned again. */
export async function takeMail(redis: RedisClient, namespace: string, limit: number): Promise<DueMail[]> {
  const key = deliveryKeys(namespace).mail;
  const members = await callFunction(redis, 'takeDue', [key], { limit, leaseMs: LEASE_MS });
  return members.map(parseMail);
}

const parseMail = (member: string): DueMail => ({
  callback: JSON.parse(member) as AbandonedCallback,
  member,
});

/** The message is sent, or never will be: it is not repeated. */
export async function removeMail(
  redis: RedisClient,
  namespace: string,
  { callback, member }: DueMail,
): Promise<void> {
  const keys = deliveryKeys(namespace);
  const batch = redis.multi().set(keys.mailed(callback.delivery), DONE, 'EX', MARKER_SECONDS);
  await execute(batch.zrem(keys.mail, member));
}

/**
 * Records that a sender, by its id, is about to send a message. `other`: another sender was; `done`: it is sent. Safe to
 * repeat, since with a lost reply the message would be lost.
 */
export async function markMailed(
  redis: RedisClient,
  namespace: string,
  deliveryId: string,
  sender: string,
): Promise<'own' | 'other' | 'done'> {
  const marker = deliveryKeys(namespace).mailed(deliveryId);
  const found = await redis.set(marker, sender, 'EX', MARKER_SECONDS, 'NX', 'GET');
  if (found === DONE) return 'done';
  return found === null || found === sender ? 'own' : 'other';
}

/**
 * Removes that record: the message was not accepted, and is sent again when due. Another front may have removed
 * it from the list in the meantime, because of the record.
 */
export async function unmarkMailed(
  redis: RedisClient,
  namespace: string,
  { callback, member }: DueMail,
): Promise<void> {
  const keys = deliveryKeys(namespace);
  const batch = redis.multi().del(keys.mailed(callback.delivery));
  await execute(batch.zadd(keys.mail, 'NX', Date.now() + LEASE_MS, member));
}

/** Counts one message of this hour, which starts with its first; returns its number. */
export async function countMail(redis: RedisClient, namespace: string): Promise<number> {
  const key = deliveryKeys(namespace).mails;
  const [, count] = await execute(redis.multi().set(key, 0, 'EX', HOUR_SECONDS, 'NX').incr(key));
  return Number(count);
}

/** Keeps a callback for the digest at the end of the hour, and removes it from the list of pending notifications. */
export async function postponeMail(
  redis: RedisClient,
  namespace: string,
  { callback, member }: DueMail,
): Promise<void> {
  const keys = deliveryKeys(namespace);
  const batch = redis.multi().set(keys.mailed(callback.delivery), DONE, 'EX', MARKER_SECONDS);
  batch.rpush(keys.digest, member).ltrim(keys.digest, -MAX_DIGEST_ENTRIES, -1);
  await execute(batch.zrem(keys.mail, member));
}

/** The digest's content, once its hour is over: no other caller gets it within the next, which begins with it. */
export async function claimDigest(redis: RedisClient, namespace: string): Promise<DueMail[]> {
  const keys = deliveryKeys(namespace);
  if ((await redis.exists(keys.digest)) === 0) return [];
  if ((await redis.set(keys.mails, 0, 'EX', HOUR_SECONDS, 'NX')) !== 'OK') return [];
  return (await redis.lrange(keys.digest, 0, -1)).map(parseMail);
}

/** Removes what a digest had once it is sent. Safe to repeat. */
export async function removeFromDigest(
  redis: RedisClient,
  namespace: string,
  mails: readonly DueMail[],
): Promise<void> {
  const { digest } = deliveryKeys(namespace);
  const batch = redis.multi();
  for (const { member } of mails) batch.lrem(digest, 1, member);
  await execute(batch);
}
