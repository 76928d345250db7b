/** Values that a workspace's own Redis user may have overwritten: counters, and reports of replicas and fronts. */
import type { RedisClient } from './client.ts';
import { LIMITS } from './function-table.ts';

/** 0 if there is none, or it is not a whole number; as `read_number` in redis/functions/include/numbers.lua. */
export async function readCounter(redis: RedisClient, key: string): Promise<number> {
  const text = await redis.getrange(key, 0, LIMITS.MAX_NUMBER_BYTES - 1);
  const value = /^-?\d+$/.test(text) ? Number(text) : 0;
  return Number.isSafeInteger(value) ? value : 0;
}

/** A whole number from 0 on, as text; null for any other, and none. */
export function parseCount(text: string | null | undefined): number | null {
  const value = /^\d{1,16}$/.test(text ?? '') ? Number(text) : null;
  return Number.isSafeInteger(value) ? value : null;
}

/** null if not written by our programs; each field must still be checked. */
export function decodeReport<T extends { v: 1 }>(text: string): T | null {
  try {
    const value = JSON.parse(text) as T | null;
    return typeof value === 'object' && value?.v === 1 ? value : null;
  } catch {
    return null;
  }
}

export const isShortText = (text: unknown): boolean =>
  typeof text === 'string' && text.length <= LIMITS.MAX_FIELD_BYTES;

export const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;
