/** Deployments' scaling history of the last day: the operator writes it, the console shows it. */

import type { DeploymentName } from '../../api/names.ts';
import { configKeys } from '../../api/redis-keys.ts';
import { execute, type RedisClient } from '../client.ts';

/** State from a time on. */
export interface ScalingPoint {
  /** Unix milliseconds. */
  at: number;
  /** Slots that are or would be in use, on average. */
  demand: number;
  /** Replicas. */
  wanted: number;
  ready: number;
  /** For a point with a change of replicas. */
  change?: { from: number; reason: string };
}

export interface ScalingEntry extends DeploymentName {
  point: ScalingPoint;
  /** Extends an existing history, but does not start one. */
  isContinuation?: boolean;
}

/** A point each minute, and changes: some 40 KiB at most. */
const MAX_POINTS = 1_500;
const KEEP_SECONDS = 25 * 3_600;

type Stored = [at: number, demand: number, wanted: number, ready: number, from?: number, reason?: string];

/** Adds points in order. Throws while Redis is down; points that a retry adds again are read once. */
export async function appendScaling(redis: RedisClient, entries: readonly ScalingEntry[]): Promise<void> {
  if (entries.length === 0) return;
  const batch = redis.pipeline();
  for (const { namespace, name, point, isContinuation } of entries) {
    const key = configKeys(namespace).scaling(name);
    const text = JSON.stringify(encode(point));
    if (isContinuation) batch.rpushx(key, text);
    else batch.rpush(key, text);
    batch.ltrim(key, -MAX_POINTS, -1).expire(key, KEEP_SECONDS);
  }
  await execute(batch);
}

/** Oldest first, from `since` (Unix milliseconds) on; the earlier state is returned as a first point at that time. */
export async function readScaling(
  redis: RedisClient,
  { namespace, name, since }: DeploymentName & { since: number },
): Promise<ScalingPoint[]> {
  const texts = await redis.lrange(configKeys(namespace).scaling(name), 0, -1);
  const points = [...new Set(texts)]
    .map((text) => decode(JSON.parse(text) as Stored))
    .sort((a, b) => a.at - b.at);
  const first = points.findIndex(({ at }) => at >= since);
  const within = first < 0 ? [] : points.slice(first);
  const before = points.at(first < 0 ? -1 : first - 1);
  if (!before || before.at >= since) return within;
  const { change: _, ...state } = before;
  return [{ ...state, at: since }, ...within];
}

const encode = ({ at, demand, wanted, ready, change }: ScalingPoint): Stored =>
  change ? [at, demand, wanted, ready, change.from, change.reason] : [at, demand, wanted, ready];

const decode = ([at, demand, wanted, ready, from, reason]: Stored): ScalingPoint => ({
  at,
  demand,
  wanted,
  ready,
  ...(from !== undefined && reason !== undefined && { change: { from, reason } }),
});
