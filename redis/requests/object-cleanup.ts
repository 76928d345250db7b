/** The list of stored objects to be removed: the front processes it, gateways only add to it. */

import { workKeys } from '../../api/redis-keys.ts';
import type { StoredObject } from '../../api/request.ts';
import type { RedisClient } from '../client.ts';
import { callFunction, SIGNATURES } from '../function-table.ts';

/** The member of the list; canonical for each object. */
export const encodeObject = ({ credential, key }: StoredObject): string => JSON.stringify([credential, key]);

/** null if not written by `encodeObject`: the workspace's own Redis user may write there. */
export function decodeObject(text: string): StoredObject | null {
  try {
    const [credential, key] = JSON.parse(text) as unknown[];
    if ((typeof credential !== 'string' && credential !== null) || typeof key !== 'string') return null;
    return encodeObject({ credential, key }) === text ? { credential, key } : null;
  } catch {
    return null;
  }
}

const REGISTERED_AT_ONCE = SIGNATURES.registerObjects.rest.most;

/** Schedules removal of objects in `removeInMs` unless a request takes ownership before: called before they are uploaded. */
export async function registerObjects(
  redis: RedisClient,
  namespace: string,
  { objects, removeInMs }: { objects: readonly StoredObject[]; removeInMs: number },
): Promise<void> {
  const { cleanup } = workKeys(namespace);
  for (let at = 0; at < objects.length; at += REGISTERED_AT_ONCE) {
    const members = objects.slice(at, at + REGISTERED_AT_ONCE).map(encodeObject);
    await callFunction(redis, 'registerObjects', [cleanup], { removeInMs }, members);
  }
}

/** Objects to remove now; those not confirmed by `unregisterObjects` within `leaseMs` are returned again. */
export async function takeDueObjects(
  redis: RedisClient,
  namespace: string,
  { limit, leaseMs }: { limit: number; leaseMs: number },
): Promise<StoredObject[]> {
  const { cleanup } = workKeys(namespace);
  const due = await callFunction(redis, 'takeDue', [cleanup], { limit, leaseMs });
  const objects = due.map(decodeObject);
  const unreadable = due.filter((_, index) => !objects[index]);
  if (unreadable.length > 0) await redis.zrem(cleanup, ...unreadable);
  return objects.filter((object) => object !== null);
}

/** Confirms that objects are removed. */
export async function unregisterObjects(
  redis: RedisClient,
  namespace: string,
  objects: readonly StoredObject[],
): Promise<void> {
  if (objects.length > 0) await redis.zrem(workKeys(namespace).cleanup, ...objects.map(encodeObject));
}
