/** Whether what Redis is given to keep is kept: asked before work is queued. */
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
