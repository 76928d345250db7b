/** Whether Redis keeps what is written to it: checked before work is queued. */
import type { RedisClient } from './client.ts';
import { keepsFunctionWrites } from './durability-canary.ts';
import { inspectRedis, REMEDIES, type RedisInspection } from './inspection.ts';

export interface DurabilitySettings {
  /** Queue even where a restart or eviction may lose requests. */
  allowLoss?: boolean;
}

/** Above it nothing new is queued, so that accepted requests can finish. */
const MAX_MEMORY_SHARE = 0.85;

export type ServerFacts = Pick<
  RedisInspection,
  'persistence' | 'reloads' | 'evictionSafe' | 'usedMemory' | 'maxMemory'
> & {
  /** Whether the last restart kept what functions had written, as far as is known. */
  keptWrites: boolean;
};

/** Why nothing may be queued on such a Redis, or null; published to gateways as `asyncRefusal`. */
export function judgeServer(
  facts: ServerFacts,
  { allowLoss = false }: DurabilitySettings = {},
): string | null {
  const { evictionSafe, usedMemory, maxMemory } = facts;
  const loss = allowLoss ? null : judgeLoss(facts);
  if (loss !== null) return loss;
  // Where keys are evicted, memory is full as a rule.
  if (evictionSafe && maxMemory > 0 && usedMemory >= MAX_MEMORY_SHARE * maxMemory) {
    return `Redis uses ${MAX_MEMORY_SHARE * 100} % of its memory or more.`;
  }
  return null;
}

function judgeLoss({ persistence, reloads, keptWrites, evictionSafe }: ServerFacts): string | null {
  if (persistence === 'none') return REMEDIES.persistence;
  if (reloads === 'nothing') return REMEDIES.reload;
  if (!keptWrites)
    return 'Redis lost what functions had written when it last restarted: check the permissions of its default user (user default off ~* &* +@all), then restart it.';
  return evictionSafe ? null : 'Redis evicts keys when its memory is full: set maxmemory-policy noeviction.';
}

/** Inspects the server; the operator does so every few seconds. Throws while Redis is down. */
export async function readServerHealth(
  redis: RedisClient,
  settings?: DurabilitySettings,
): Promise<string | null> {
  const inspection = await inspectRedis(redis);
  const keptWrites = await keepsFunctionWrites(redis, inspection.runId);
  return judgeServer({ ...inspection, keptWrites }, settings);
}
