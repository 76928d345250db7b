/** Whether a restart of Redis keeps what functions write: found by a trial write, since a Redis that loses it reports nothing. */
import { FUNCTIONS, globalKeys } from '../api/redis-keys.ts';
import type { RedisClient } from './client.ts';

/**
 * Checks what was written last time and rewrites it. False from the start of a server that had lost it
 * until the next start of one that had not; true where nothing was ever written, or the functions are not loaded.
 */
export async function keepsFunctionWrites(redis: RedisClient, runId: string): Promise<boolean> {
  const [confirmed, forgetfulRun] = await redis.hmget(globalKeys.canary, 'confirmed', 'forgetful-run');
  const reply = await callCanary(redis, confirmed ?? '0');
  if (reply === null) return true;
  const [before, next] = reply;
  // A command of its own, which every reload keeps, and later than the function: what it confirms was written.
  await redis.hset(globalKeys.canary, 'confirmed', String(next));
  if (before >= Number(confirmed ?? 0)) return forgetfulRun !== runId;
  await redis.hset(globalKeys.canary, 'forgetful-run', runId);
  return false;
}

async function callCanary(redis: RedisClient, confirmed: string): Promise<[number, number] | null> {
  try {
    return (await redis.fcall(FUNCTIONS.canary, 1, globalKeys.canary, confirmed)) as [number, number];
  } catch (error) {
    if (/Function not found/.test(String(error))) return null;
    throw error;
  }
}
