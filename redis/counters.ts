/** Reads counters of workspaces, which their own Redis users may overwrite with anything. */
import type { RedisClient } from './client.ts';

/** As text: a whole number of 64 bits. */
const MAX_DIGITS = 20;

/** 0 where there is none, or what is there is no whole number; as `read_number` in redis/functions/header.lua. */
export async function readCounter(redis: RedisClient, key: string): Promise<number> {
  const text = await redis.getrange(key, 0, MAX_DIGITS - 1);
  const value = /^-?\d+$/.test(text) ? Number(text) : 0;
  return Number.isSafeInteger(value) ? value : 0;
}
