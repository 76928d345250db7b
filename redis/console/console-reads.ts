/** Reads of Redis for the console's pages. */
import { configKeys, workKeys } from '../../api/redis-keys.ts';
import type { RedisClient } from '../client.ts';
import { readDemand } from '../demand/demand.ts';
import { callFunction, LIMITS } from '../function-table.ts';
import { readCounter } from '../untrusted-values.ts';
import { readKeyUse } from '../usage/key-uses.ts';

/** Waiting, of these queued, running, and abandoned requests that engines still work on, of a deployment. */
export async function countQueue(
  redis: RedisClient,
  { namespace, deployment, replicas }: { namespace: string; deployment: string; replicas: number },
): Promise<{ waiting: number; queued: number; running: number; abandoned: number }> {
  const keys = workKeys(namespace);
  const key = `${namespace}/${deployment}`;
  const [demand, queued, running, again] = await Promise.all([
    readDemand(redis, [key], () => replicas),
    redis.zcard(keys.index(deployment, 'queued')),
    redis.zcard(keys.index(deployment, 'running')),
    redis.zcard(keys.again(deployment)),
  ]);
  const abandoned = sumOf(demand.get(key)?.replicas ?? [], (replica) => replica.abandoned ?? 0);
  // A running request that lost its worker waits for another.
  return { waiting: queued + again, queued, running: Math.max(0, running - again), abandoned };
}

/** Requests at a deployment now, as its replicas and fronts last reported. */
export interface DeploymentLoad {
  /** With probes of health. */
  inflight: number;
  /** Requests that its replicas have room for which are ready or still busy; null = unlimited. */
  slots: number | null;
  /** Requests that wait for a replica or a slot. */
  queued: number;
  /** The least that engines which report it have queued for some seconds; null: none does, or it changes. */
  waiting: number | null;
  /** Percent of the fullest replica's KV cache; null: no engine reports it, or none has two requests. */
  cacheUse: number | null;
}

export async function readLoad(
  redis: RedisClient,
  { namespace, deployment, replicas: wanted }: { namespace: string; deployment: string; replicas: number },
): Promise<DeploymentLoad> {
  const key = `${namespace}/${deployment}`;
  const { replicas = [], fronts = [] } = (await readDemand(redis, [key], () => wanted)).get(key) ?? {};
  const open = replicas.filter(({ ready, draining, inflight }) => (ready && !draining) || inflight > 0);
  const cacheUses = replicas.flatMap(({ cacheUse }) => cacheUse ?? []);
  const reporting = replicas.filter(({ waiting }) => waiting !== undefined);
  return {
    inflight: sumOf(replicas, ({ inflight }) => inflight),
    slots: open.some(({ limit }) => limit === null) ? null : sumOf(open, ({ limit }) => limit ?? 0),
    queued: sumOf(replicas, ({ queued = 0 }) => queued) + sumOf(fronts, ({ held }) => held),
    waiting: reporting.length > 0 ? sumOf(reporting, ({ waiting = 0 }) => waiting) : null,
    cacheUse: cacheUses.length > 0 ? Math.max(...cacheUses) : null,
  };
}

const sumOf = <T>(items: readonly T[], read: (item: T) => number): number =>
  items.reduce((sum, item) => sum + read(item), 0);

const DAY_MS = 86_400_000;

/** Usage of one API key's limits, by this machine's clock, and when (Unix milliseconds) it was last used. */
export async function readKeyUsage(
  redis: RedisClient,
  { namespace, sha256, now }: { namespace: string; sha256: string; now: number },
): Promise<{ requestsThisMinute: number; tokensToday: number; lastUsedAt: number | null }> {
  const keys = workKeys(namespace);
  const [requests, tokens, lastUsedAt] = await Promise.all([
    readCounter(redis, keys.rpm(sha256)),
    readCounter(redis, keys.tpd(sha256, Math.floor(now / DAY_MS))),
    readKeyUse(redis, namespace, sha256),
  ]);
  return { requestsThisMinute: requests, tokensToday: tokens, lastUsedAt };
}

/** Deployments that are published, or were and had requests, by name. */
export async function readDeploymentNames(redis: RedisClient, namespace: string): Promise<string[]> {
  const [published, requested] = await Promise.all([
    redis.hkeys(configKeys(namespace).deployments),
    callFunction(redis, 'names', [workKeys(namespace).deployments], { limit: LIMITS.MAX_NAMES }),
  ]);
  return [...new Set([...published, ...requested])].sort();
}

/** ISO 4217; null = not known. */
export const readCurrency = (redis: RedisClient, namespace: string): Promise<string | null> =>
  redis.hget(configKeys(namespace).workspace, 'currency');

/** Millionths that a workspace may spend in all; null = unlimited. */
export async function readGrantedMicros(redis: RedisClient, namespace: string): Promise<number | null> {
  const granted = await redis.hget(configKeys(namespace).workspace, 'creditMicros');
  return granted === null ? null : Number(granted);
}
