/** Who pays for a queued request, and how much. */
import { workKeys } from '../../api/redis-keys.ts';
import type { RedisClient } from '../client.ts';

/** With the most characters of each; what is longer no function wrote. */
const FIELDS = { api_key: 24, price: 24, key_name: 253, images: 4 } as const;
const NAMES = Object.keys(FIELDS) as (keyof typeof FIELDS)[];

export interface Charge {
  /** 24 digits of the SHA-256 of the key that submitted it. */
  keyHash: string;
  /** Of the APIKey, or `console:` and a user; null of a record that is older than the field. */
  keyName: string | null;
  /** The price in millionths; nothing of it is left to pay where the request failed or was canceled. */
  micros: number;
  /** That were asked for; null of a video. */
  images: number | null;
}

/** Whose request it was, and its price; null where it is gone. */
export async function readCharge(redis: RedisClient, namespace: string, id: string): Promise<Charge | null> {
  const key = workKeys(namespace).request(id);
  const lengths = await Promise.all(NAMES.map((name) => redis.hstrlen(key, name)));
  if (NAMES.some((name, index) => lengths[index]! > FIELDS[name])) return null;
  const [keyHash, price, keyName, images] = await redis.hmget(key, ...NAMES);
  if (!keyHash || !price || !Number.isSafeInteger(Number(price))) return null;
  return { keyHash, keyName: keyName || null, micros: Number(price), images: Number(images) || null };
}
