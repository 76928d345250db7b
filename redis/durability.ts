/** Whether what Redis is given to keep is kept: asked before work is queued. */

import type { RedisClient } from './client.ts';
import { keepsFunctionWrites } from './durability-canary.ts';
import { inspectRedis, REMEDIES, type RedisInspection } from './inspection.ts';

export interface DurabilitySettings {
  /** Queue all the same where a restart or eviction may lose requests. */
  allowLoss?: boolean;
}

/** Beyond it nothing new is queued, so that what was accepted can end. */
const MOST_MEMORY = 0.85;

export type ServerFacts = Pick<
  RedisInspection,
  'persistence' | 'reloads' | 'evictionSafe' | 'usedMemory' | 'maxMemory'
> & {
  /** Whether the last restart kept what functions had written, as far as anybody knows. */
  keptWrites: boolean;
};

/** Why nothing may be queued on such a Redis, or null; what gateways are told as `asyncRefusal`. */
export function judgeServer(
  facts: ServerFacts,
  { allowLoss = false }: DurabilitySettings = {},
): string | null {
  const { evictionSafe, usedMemory, maxMemory } = facts;
  const loss = allowLoss ? null : judgeLoss(facts);
  if (loss !== null) return loss;
  // Where keys are evicted, memory is full as a rule.
  if (evictionSafe && maxMemory > 0 && usedMemory >= MOST_MEMORY * maxMemory) {
    return `Redis has ${MOST_MEMORY * 100} % of its memory in use, or more.`;
  }
  return null;
}

function judgeLoss({ persistence, reloads, keptWrites, evictionSafe }: ServerFacts): string | null {
  if (persistence === 'none') return REMEDIES.persistence;
  if (reloads === 'nothing') return REMEDIES.reload;
  if (!keptWrites)
    return 'Redis dropped what functions had written when it last started: check the rights of its default user (user default off ~* &* +@all), then restart it.';
  return evictionSafe ? null : 'Redis drops keys when memory is full: set maxmemory-policy noeviction.';
}

/** Asks the server, for the operator, every few seconds. Throws while Redis is away. */
export async function readServerHealth(
  redis: RedisClient,
  settings?: DurabilitySettings,
): Promise<string | null> {
  const inspection = await inspectRedis(redis);
  const keptWrites = await keepsFunctionWrites(redis, inspection.runId);
  return judgeServer({ ...inspection, keptWrites }, settings);
}
