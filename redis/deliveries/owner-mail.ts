/** Failed callbacks that a workspace's owner is notified of. */
import { deliveryKeys, FUNCTIONS } from '../../api/redis-keys.ts';
import type { RedisClient } from '../client.ts';

/** As written by the function that fails a delivery permanently. */
export interface AbandonedCallback {
  delivery: string;
  event: string;
  type: string;
  request: string;
  url: string;
  /** Of the last attempt. */
  error: string;
  /** When it failed permanently, in Unix milliseconds. */
  at: number;
}

export interface DueMail {
  callback: AbandonedCallback;
  /** For `removeMail`. */
  member: string;
}

const LEASE_MS = 60_000;
const MARKER_SECONDS = 7 * 86_400;
const HOUR_SECONDS = 3_600;
const MAX_DIGEST_ENTRIES = 1_000;

/** Callbacks with pending notifications; those not removed within a minute are returned again. */
export async function takeMail(redis: RedisClient, namespace: string, limit: number): Promise<DueMail[]> {
  const key = deliveryKeys(namespace).mail;
  const members = (await redis.fcall(FUNCTIONS.takeDue, 1, key, limit, LEASE_MS)) as string[];
  return members.map((member) => ({ callback: JSON.parse(member) as AbandonedCallback, member }));
}

export async function removeMail(redis: RedisClient, namespace: string, { member }: DueMail): Promise<void> {
  await redis.zrem(deliveryKeys(namespace).mail, member);
}

/** Records that a message is about to be sent; false: one was already, and it is not repeated. */
export async function markMailed(
  redis: RedisClient,
  namespace: string,
  deliveryId: string,
): Promise<boolean> {
  const marker = deliveryKeys(namespace).mailed(deliveryId);
  return (await redis.set(marker, '1', 'EX', MARKER_SECONDS, 'NX')) === 'OK';
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
  const replies = await batch.zadd(keys.mail, 'NX', Date.now() + LEASE_MS, member).exec();
  for (const [error] of replies ?? []) if (error) throw error;
}

/** Counts one message of this hour, which starts with its first; returns its number. */
export async function countMail(redis: RedisClient, namespace: string): Promise<number> {
  const key = deliveryKeys(namespace).mails;
  const replies = await redis.multi().set(key, 0, 'EX', HOUR_SECONDS, 'NX').incr(key).exec();
  const [error, count] = replies?.[1] ?? [];
  if (error) throw error;
  return Number(count);
}

/** Keeps a callback for the digest at the end of the hour, and removes it from the list of pending notifications. */
export async function postponeMail(
  redis: RedisClient,
  namespace: string,
  { member }: DueMail,
): Promise<void> {
  const keys = deliveryKeys(namespace);
  const batch = redis.multi().rpush(keys.digest, member).ltrim(keys.digest, -MAX_DIGEST_ENTRIES, -1);
  for (const [error] of (await batch.zrem(keys.mail, member).exec()) ?? []) if (error) throw error;
}

/** Takes the digest's content, once its hour is over. */
export async function takeDigest(redis: RedisClient, namespace: string): Promise<AbandonedCallback[]> {
  const keys = deliveryKeys(namespace);
  if ((await redis.exists(keys.mails)) === 1) return [];
  const replies = await redis.multi().lrange(keys.digest, 0, -1).del(keys.digest).exec();
  const [error, members] = replies?.[0] ?? [];
  if (error) throw error;
  return (members as string[]).map((member) => JSON.parse(member) as AbandonedCallback);
}

/** Restores a digest that was not accepted, to be sent an hour from now. */
export async function postponeDigest(
  redis: RedisClient,
  namespace: string,
  callbacks: readonly AbandonedCallback[],
): Promise<void> {
  const keys = deliveryKeys(namespace);
  const batch = redis.multi().rpush(keys.digest, ...callbacks.map((callback) => JSON.stringify(callback)));
  const replies = await batch.set(keys.mails, 0, 'EX', HOUR_SECONDS, 'NX').exec();
  for (const [error] of replies ?? []) if (error) throw error;
}
