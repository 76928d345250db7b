/** Memory and connections of Redis in use, and each workspace's share of memory, which the operator limits. */
import { type RedisClient, sendSlowCommand } from '../client.ts';
import { encodeCall, type Replies } from '../function-table.ts';
import { readInfo } from '../inspection.ts';
import { readUser } from './users.ts';

/** How much of the server's bytes or connections is in use. */
export interface ServerUse {
  used: number;
  /** 0 = no limit, or unknown. */
  max: number;
}

export interface Weighing {
  /** Measures every element of a key instead of a few samples, which takes longer. */
  exactly?: boolean;
  /** Stops early once it returns true. */
  isEnough?: (bytes: number) => boolean;
}

export async function readMemoryUse(redis: RedisClient): Promise<ServerUse> {
  const { used_memory: used = 0, maxmemory: max = 0 } = await readInfo(redis, 'memory');
  return { used: Number(used), max: Number(max) };
}

export async function readConnectionUse(redis: RedisClient): Promise<ServerUse> {
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

/** Bytes by namespace, some keys per step so that Redis serves others in between. */
export async function weighWorkspaces(
  redis: RedisClient,
  { exactly = false, isEnough = () => false }: Weighing = {},
): Promise<Map<string, number>> {
  const weights = new Map<string, number>();
  let cursor = '0';
  do {
    const call = encodeCall('weigh', [], { cursor, mode: exactly ? 'exactly' : 'sampled' });
    const [next, ...pairs] = (await sendSlowCommand(redis, 'fcall', call)) as Replies['weigh'];
    for (let i = 0; i < pairs.length; i += 2) {
      const namespace = String(pairs[i]);
      weights.set(namespace, (weights.get(namespace) ?? 0) + Number(pairs[i + 1]));
    }
    cursor = String(next);
  } while (cursor !== '0' && ![...weights.values()].some(isEnough));
  return weights;
}
