/** The list of stored objects that must be removed: the front works it off, gateways only add to it. */

import { FUNCTIONS, workKeys } from '../contract/redis-keys.ts';
import type { StoredObject } from '../contract/request.ts';
import type { RedisClient } from './client.ts';

/** The member of the list; the same object is always written alike. */
export const encodeObject = ({ credential, key }: StoredObject): string => JSON.stringify([credential, key]);

function decodeObject(text: string): StoredObject {
  const [credential, key] = JSON.parse(text) as [string | null, string];
  return { credential, key };
}

/** Has objects removed in `removeInMs` unless a request takes them over before: called before they are uploaded. */
export async function registerObjects(
  redis: RedisClient,
  namespace: string,
  { objects, removeInMs }: { objects: readonly StoredObject[]; removeInMs: number },
): Promise<void> {
  const members = objects.map(encodeObject);
  await redis.fcall(FUNCTIONS.registerObjects, 1, workKeys(namespace).cleanup, removeInMs, ...members);
}

/** Objects to remove now; those not confirmed by `forgetObjects` within `leaseMs` come again. */
export async function takeDueObjects(
  redis: RedisClient,
  namespace: string,
  { limit, leaseMs }: { limit: number; leaseMs: number },
): Promise<StoredObject[]> {
  const due = await redis.fcall(FUNCTIONS.takeDue, 1, workKeys(namespace).cleanup, limit, leaseMs);
  return (due as string[]).map(decodeObject);
}

/** Says that objects are removed. */
export async function forgetObjects(
  redis: RedisClient,
  namespace: string,
  objects: readonly StoredObject[],
): Promise<void> {
  if (objects.length > 0) await redis.zrem(workKeys(namespace).cleanup, ...objects.map(encodeObject));
}
