/** Whether Redis is durable: checked before work is queued. */

import { globalKeys } from '../api/redis-keys.ts';
import type { RedisClient } from './client.ts';
import { callFunction } from './function-table.ts';
import { inspectRedis, REMEDIES, type RedisInspection } from './inspection.ts';

export interface DurabilitySettings {
  /** Queue even if a restart or eviction may lose requests. */
  allowLoss?: boolean;
}

/** Above it nothing is queued, so that accepted requests can finish. */
const MAX_MEMORY_SHARE = 0.85;

export type ServerFacts = Pick<
  RedisInspection,
  'persistence' | 'reloads' | 'evictionSafe' | 'usedMemory' | 'maxMemory'
> & {
  /** Whether the last restart kept functions' writes, as far as known. */
  keptWrites: boolean;
};

/** Why nothing may be queued on such a Redis, or null; published to gateways as `asyncRefusal`. */
export function evaluateServer(
  facts: ServerFacts,
  { allowLoss = false }: DurabilitySettings = {},
): string | null {
  const { evictionSafe, usedMemory, maxMemory } = facts;
  const loss = allowLoss ? null : evaluateLoss(facts);
  if (loss !== null) return loss;
  // With eviction, memory is usually full.
  if (evictionSafe && maxMemory > 0 && usedMemory >= MAX_MEMORY_SHARE * maxMemory) {
    return `Redis uses ${MAX_MEMORY_SHARE * 100} % of its memory or more.`;
  }
  return null;
}

function evaluateLoss({ persistence, reloads, keptWrites, evictionSafe }: ServerFacts): string | null {
  if (persistence === 'none') return REMEDIES.persistence;
  if (reloads === 'nothing') return REMEDIES.reload;
  if (!keptWrites)
    return 'Redis lost what functions had written when it last restarted: check the permissions of its default user (user default off ~* &* +@all), then restart it.';
  return evictionSafe ? null : 'Redis evicts keys when its memory is full: set maxmemory-policy noeviction.';
}

export interface ServerHealth {
  /** Why nothing may be queued; null = it may. */
  refusal: string | null;
  /** Settings by which it may lose data, or fill up: it is used anyway. */
  warnings: string[];
}

/** Inspects the server; the operator does so every few seconds. Throws while Redis is down. */
export async function readServerHealth(
  redis: RedisClient,
  settings?: DurabilitySettings,
): Promise<ServerHealth> {
  const inspection = await inspectRedis(redis);
  const keptWrites = await keepsFunctionWrites(redis, inspection.runId);
  return { refusal: evaluateServer({ ...inspection, keptWrites }, settings), warnings: inspection.warnings };
}

/**
 * Checks what was written last time and rewrites it. False from the start of a server that had lost it
 * until the next start of one that had not; true if nothing was ever written, or the functions are not loaded.
 */
export async function keepsFunctionWrites(redis: RedisClient, runId: string): Promise<boolean> {
  const [confirmed, forgetfulRun] = await redis.hmget(globalKeys.canary, 'confirmed', 'forgetful-run');
  const reply = await callCanary(redis, confirmed ?? '0');
  if (reply === null) return true;
  const [before, next] = reply;
  // A plain command, which every reload keeps, sent after the function: it confirms that that was written.
  await redis.hset(globalKeys.canary, 'confirmed', String(next));
  if (before >= Number(confirmed ?? 0)) return forgetfulRun !== runId;
  await redis.hset(globalKeys.canary, 'forgetful-run', runId);
  return false;
}

async function callCanary(redis: RedisClient, confirmed: string): Promise<[number, number] | null> {
  try {
    return await callFunction(redis, 'canary', [globalKeys.canary], { confirmed });
  } catch (error) {
    if (/Function not found/.test(String(error))) return null;
    throw error;
  }
}
