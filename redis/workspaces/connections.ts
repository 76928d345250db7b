/** Counts Redis' connections, and closes those that never logged in. */
import type { RedisClient } from '../client.ts';
import { readInfo } from '../inspection.ts';
import { readUser } from './users.ts';

export interface ConnectionUse {
  used: number;
  /** 0 = unknown. */
  max: number;
}

export async function readConnectionUse(redis: RedisClient): Promise<ConnectionUse> {
  const { connected_clients: used = 0, maxclients: max = 0 } = await readInfo(redis, 'clients');
  return { used: Number(used), max: Number(max) };
}

/**
 * Closes connections that have been without a user for so many seconds; returns how many. None if the default user is on:
 * then they may be anyone's. Throws if the server does not support ages (before Redis 7.4 and Valkey 8.0).
 */
export async function closeAnonymous(redis: RedisClient, minAgeSeconds: number): Promise<number> {
  const user = await readUser(redis, 'default');
  if (!user?.flags.includes('off')) return 0;
  return Number(await redis.call('CLIENT', 'KILL', 'USER', 'default', 'MAXAGE', String(minAgeSeconds)));
}
