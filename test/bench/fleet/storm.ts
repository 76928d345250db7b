/** Far more deployments are asked for at once than there are GPUs: each has its turn, serves, and makes room again. */

import { keyOf, type PodRecord, type PodWatch } from '../../support/pod-watch.ts';
import { pollUntil } from '../../support/poll.ts';
import type { ModelName } from '../operator-state.ts';
import { type Gateways, holdRequests } from './gateways.ts';
import type { Installation } from './installation.ts';

/** For how long each has something to do once it is ready. */
const SERVE_MS = 5_000;

export interface StormFigures {
  deployments: number;
  served: number;
  seconds: number;
  longestWaitSeconds: number;
  /** Pairs of a workspace that were served in another order than they asked, of all such pairs. */
  inversions: { count: number; pairs: number };
  /** Fewest and most of a workspace that had a GPU when half of all had had one. */
  shareAtHalf: [fewest: number, most: number];
  /** Pods that had a node and never became ready, or were ready when nobody waited any more. */
  inVain: number;
  pods: number;
}

export async function measureStorm(
  { redis }: Installation,
  { pods, gateways, models }: { pods: PodWatch; gateways: Gateways; models: readonly ModelName[] },
): Promise<StormFigures> {
  const startedAt = performance.now();
  const before = new Set(pods.records.keys());
  const waiting = new Map(
    models.map((model) => [
      keyOf(model),
      { demand: holdRequests(redis.redis, model, 1), askedAt: performance.now() },
    ]),
  );
  const served = new Map<string, number>();
  const inVain = new Set<string>();
  gateways.serveMs = SERVE_MS;
  const isOwn = ({ model }: PodRecord) => waiting.has(model);
  try {
    await pollUntil(
      () => {
        for (const [uid, record] of pods.records) {
          if (before.has(uid) || !isOwn(record) || record.readyAt === undefined) continue;
          if (!served.has(record.model)) {
            served.set(record.model, record.readyAt);
            waiting.get(record.model)!.demand.stop();
          }
        }
        return served.size === models.length;
      },
      'all deployments to be served',
      900_000,
    );
  } finally {
    gateways.serveMs = 0;
    for (const { demand } of waiting.values()) demand.stop();
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  const own = [...pods.records].filter(([uid, record]) => !before.has(uid) && isOwn(record));
  for (const [uid, { placedAt, readyAt, leavingAt }] of own)
    if (placedAt !== undefined && leavingAt !== undefined && readyAt === undefined) inVain.add(uid);
  // Each served one request: a second pod of it was ready for nobody.
  const readyPods = own.filter(([, { readyAt }]) => readyAt !== undefined).length;
  const waits = [...served].map(([key, at]) => at - waiting.get(key)!.askedAt);
  return {
    deployments: models.length,
    served: served.size,
    seconds,
    longestWaitSeconds: Math.max(...waits) / 1_000,
    inversions: countInversions(
      models,
      own.map(([, record]) => record),
    ),
    shareAtHalf: shareAtHalf(
      models,
      own.map(([, record]) => record),
    ),
    inVain: inVain.size + Math.max(0, readyPods - served.size),
    pods: own.length,
  };
}

/** By model: when its first pod had a node. */
function listPlaced(records: readonly PodRecord[]): Map<string, number> {
  const placed = new Map<string, number>();
  for (const { model, placedAt } of records)
    if (placedAt !== undefined)
      placed.set(model, Math.min(placed.get(model) ?? Number.POSITIVE_INFINITY, placedAt));
  return placed;
}

function countInversions(models: readonly ModelName[], records: readonly PodRecord[]) {
  const placed = listPlaced(records);
  let [count, pairs] = [0, 0];
  for (const group of Map.groupBy(models, ({ namespace }) => namespace).values())
    for (const [index, first] of group.entries())
      for (const second of group.slice(index + 1)) {
        pairs++;
        // At the same moment is in order.
        if (placed.get(keyOf(first))! > placed.get(keyOf(second))! + 1_000) count++;
      }
  return { count, pairs };
}

function shareAtHalf(models: readonly ModelName[], records: readonly PodRecord[]): [number, number] {
  const order = [...listPlaced(records)].sort((a, b) => a[1] - b[1]).slice(0, Math.ceil(models.length / 2));
  const shares = new Map(models.map(({ namespace }) => [namespace, 0]));
  for (const [key] of order) {
    const namespace = key.split('/')[0]!;
    shares.set(namespace, shares.get(namespace)! + 1);
  }
  return [Math.min(...shares.values()), Math.max(...shares.values())];
}
