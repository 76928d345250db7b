/** Deployments' demand, reported by replicas and fronts and read by the operator: many in one call. */
import { channels, type FrontShare, type Heartbeat, workKeys } from '../../api/redis-keys.ts';
import type { RedisClient } from '../client.ts';
import { callFunction, SIGNATURES } from '../function-table.ts';
import { decodeReport, isCount, isShortText, parseCount } from '../untrusted-values.ts';

export interface DeploymentSample {
  replicas: Omit<Heartbeat, 'v' | 'address' | 'port' | 'version' | 'every'>[];
  fronts: Omit<FrontShare, 'v' | 'every'>[];
  /** `paceMs`: the average of a job; null before the first has ended. */
  jobs: { queued: number; running: number; paceMs: number | null };
  /** Unix milliseconds by Redis' clock; so `at` above. */
  at: number;
}

/** Deployments per call, and the bytes of their keys. */
export const MAX_KEYS = SIGNATURES.demand.rest.most;
const MAX_KEYS_BYTES = 12 * 1024;
/** Allowance for pods that come or go, beside twice the known number. */
const SPARE_REPLICAS = 20;

/** Known number of pods of a deployment. */
export type CountReplicas = (key: string) => number;

/**
 * Samples of deployments by key, `namespace/name`. The workspace itself can write the reports, so invalid ones are
 * ignored, and with `countReplicas` all reports of a deployment that has many more than pods. Throws while Redis is down.
 */
export async function readDemand(
  redis: RedisClient,
  keys: readonly string[],
  countReplicas?: CountReplicas,
): Promise<Map<string, DeploymentSample>> {
  const samples = new Map<string, DeploymentSample>();
  for (let left = [...keys]; left.length > 0; ) {
    const asked = left.slice(0, countTogether(left));
    const [time, ...found] = await callFunction(
      redis,
      'demand',
      [heartbeatsOf(asked[0]!)],
      {},
      asked.map((key) => (countReplicas ? `${key}/${2 * countReplicas(key) + SPARE_REPLICAS}` : key)),
    );
    const at = Number(time);
    for (const [index, [beats, shares, queued, running, pace]] of found.entries())
      samples.set(asked[index]!, {
        replicas: beats.flatMap((text) => decodeReplica(text, at) ?? []),
        fronts: shares.flatMap((text) => decodeShare(text, at) ?? []),
        jobs: { queued, running, paceMs: parseCount(pace) || null },
        at,
      });
    // A call ends early if there is much to read; it returns at least one deployment each time.
    left = left.slice(Math.max(1, found.length));
  }
  return samples;
}

const heartbeatsOf = (key: string): string => {
  const [namespace = '', name = ''] = key.split('/');
  return workKeys(namespace).heartbeats(name);
};

function countTogether(keys: readonly string[]): number {
  let bytes = 0;
  const end = keys.slice(0, MAX_KEYS).findIndex((key) => {
    bytes += key.length;
    return bytes > MAX_KEYS_BYTES;
  });
  return end < 0 ? MAX_KEYS : Math.max(1, end);
}

/** Limit of an engine's words in a condition. */
const MAX_WORDS = 500;

function decodeReplica(text: string, now: number): DeploymentSample['replicas'][number] | null {
  const report = decodeReport<Heartbeat>(text);
  if (!report) return null;
  const { pod, boot, ready, draining, limit } = report;
  if (![pod, boot].every(isShortText) || ![ready, draining].every((flag) => typeof flag === 'boolean'))
    return null;
  const { busyMs, arrivals, inflight, waiting, cacheUse, queued, abandoned = 0, activeAt, at } = report;
  const { adapter, adapterError } = report;
  if (![busyMs, arrivals, inflight, waiting ?? 0, abandoned, activeAt, at].every(isCount)) return null;
  if (limit !== null && !isCount(limit)) return null;
  return {
    ...{ pod, boot, ready, draining, limit, busyMs, arrivals, inflight, abandoned, at },
    ...(waiting !== undefined && { waiting: Math.min(waiting, inflight) }),
    ...(isShortText(adapter) && { adapter }),
    ...(typeof adapterError === 'string' && { adapterError: adapterError.slice(0, MAX_WORDS) }),
    // Only shown: a replica without them is scaled all the same.
    queued: isCount(queued) ? queued! : 0,
    ...(isCount(cacheUse) && { cacheUse: Math.min(cacheUse!, 100) }),
    asleep: report.asleep === true,
    activeAt: Math.min(activeAt, now),
  };
}

function decodeShare(text: string, now: number): DeploymentSample['fronts'][number] | null {
  const share = decodeReport<FrontShare>(text);
  if (!share) return null;
  const { front, boot, held, heldMs, refused, wantedAt, at } = share;
  if (![front, boot].every(isShortText)) return null;
  if (![held, heldMs, refused, wantedAt, at].every(isCount)) return null;
  return { front, boot, held, heldMs, refused, wantedAt: Math.min(wantedAt, now), at };
}

/** Writes a front's share of the demand for a deployment; returns how many requests all other fronts hold for it. */
export async function sayShare(
  redis: RedisClient,
  deployment: { namespace: string; name: string },
  share: Omit<FrontShare, 'at'>,
): Promise<number> {
  const key = workKeys(deployment.namespace).fronts(deployment.name);
  return callFunction(redis, 'share', [key], { front: share.front, report: JSON.stringify(share) });
}

/** Hints to the operator that a replica of a deployment is needed: shares and queues are the source of truth. */
export const publishWake = (redis: RedisClient, { namespace, name }: { namespace: string; name: string }) =>
  redis.publish(channels.wake, `${namespace}/${name}`);
