/** Whether what Redis is given to keep is kept: asked before work is queued, and after it where that is wanted. */
import { workKeys } from '../contract/redis-keys.ts';
import type { RedisClient } from './client.ts';
import { inspectRedis, type RedisInspection } from './inspection.ts';

export interface DurabilitySettings {
  /** Queue all the same where a restart or eviction may lose requests. */
  allowLoss?: boolean;
}

/** Beyond it nothing new is queued, so that what was accepted can end. */
const MOST_MEMORY = 0.85;

/** Why nothing may be queued on such a Redis, or null; what gateways are told as `asyncRefusal`. */
export function judgeServer(
  inspection: Pick<RedisInspection, 'persistence' | 'evictionSafe' | 'usedMemory' | 'maxMemory'>,
  { allowLoss = false }: DurabilitySettings = {},
): string | null {
  const { persistence, evictionSafe, usedMemory, maxMemory } = inspection;
  if (!allowLoss && persistence === 'none') return 'Redis keeps nothing over a restart: set appendonly yes.';
  if (!allowLoss && !evictionSafe) {
    return 'Redis drops keys when memory is full: set maxmemory-policy noeviction.';
  }
  // Where keys are evicted, memory is full as a rule.
  if (evictionSafe && maxMemory > 0 && usedMemory >= MOST_MEMORY * maxMemory) {
    return `Redis has ${MOST_MEMORY * 100} % of its memory in use, or more.`;
  }
  return null;
}

/** Asks the server, for the operator and `make run`, every few seconds. Throws while Redis is away. */
export async function readServerHealth(
  redis: RedisClient,
  settings?: DurabilitySettings,
): Promise<string | null> {
  return judgeServer(await inspectRedis(redis), settings);
}

/**
 * `everysec`: an answer may come before the append-only file is on disk, up to a second at a crash of the host.
 * `strict`: it comes after, from Redis 7.2 on. Such calls hold their connection up, so they need one of their own, with
 * a command time-out of STRICT_COMMAND_MS.
 */
export type Durability = 'everysec' | 'strict';

/** Redis writes every second, and later when the disk is slow. */
const FSYNC_TIMEOUT_MS = 3000;
export const STRICT_COMMAND_MS = FSYNC_TIMEOUT_MS + 1000;

/** Not on disk in time: `isRedisAway`, so repeat the call with the same token. */
export class NotDurableError extends Error {
  override name = 'NotDurableError';
}

/** Returns once all that Redis was told before is on its disk, or throws: NotDurableError, or that it cannot be. */
export async function waitForDisk(redis: RedisClient, namespace: string): Promise<void> {
  // A write of this connection's own: without any, after a reconnect, there would be nothing to wait for.
  const [written, waited] = (await redis
    .pipeline()
    .set(workKeys(namespace).synced, '1')
    .call('WAITAOF', 1, 0, FSYNC_TIMEOUT_MS)
    .exec())!;
  const error = written![0] ?? waited![0];
  if (error && /unknown command/i.test(error.message)) {
    throw new Error('Strict durability needs Redis 7.2 or newer.');
  }
  if (error) throw error;
  if ((waited![1] as [number, number])[0] < 1) {
    throw new NotDurableError(`Redis did not write to its disk within ${FSYNC_TIMEOUT_MS} ms.`);
  }
}
