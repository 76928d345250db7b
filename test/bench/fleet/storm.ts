/** Far more deployments get requests at once than there are GPUs: each has its turn, serves, and releases its GPU. */
import { keyOf, type PodRecord, type PodWatch } from '../../support/pod-watch.ts';
import { pollUntil } from '../../support/poll.ts';
import type { ModelName } from '../operator-state.ts';
import { type Gateways, holdRequests } from './gateways.ts';
import type { Installation } from './installation.ts';
import { pause } from './rest.ts';

/** How long each has work once it is ready. */
const SERVE_MS = 5_000;
/** Between two requests. */
const STAGGER_MS = 5;
/** Requests closer together than this count as simultaneous. */
const MIN_GAP_MS = 100;
/** GPUs assigned within this time count as simultaneous. */
const TOLERANCE_MS = 1_000;

export interface StormFigures {
  deployments: number;
  served: number;
  seconds: number;
  /** Waits of the workspace with as many deployments as all others together, and of those others. */
  longestWaitSeconds: { large: number; others: number };
  /** Pairs of a workspace with requests at different times, and how many of them got their GPUs in reverse order. */
  inversions: { count: number; pairs: number };
  /** How many of a workspace's deployments had a GPU when half of all had. */
  shareAtHalf: { large: number; others: [fewest: number, most: number] };
  /** Pods that got a node but never became ready, or only after nobody waited. */
  inVain: number;
  pods: number;
}

export interface StormOptions {
  pods: PodWatch;
  gateways: Gateways;
  /** In the order of their requests. */
  models: readonly ModelName[];
  /** The workspace that has as many of them as all others. */
  large: string;
}

export async function measureStorm(
  { redis }: Installation,
  { pods, gateways, models, large }: StormOptions,
): Promise<StormFigures> {
  const startedAt = performance.now();
  const before = new Set(pods.records.keys());
  const waiting = new Map<string, { demand: { stop(): void }; askedAt: number }>();
  for (const [index, model] of models.entries()) {
    await pause(startedAt + index * STAGGER_MS - performance.now());
    waiting.set(keyOf(model), {
      demand: holdRequests(redis.redis, model, 1),
      askedAt: performance.now(),
    });
  }
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
  // Each serves one request, so a second pod of it is useless.
  const readyPods = own.filter(([, { readyAt }]) => readyAt !== undefined).length;
  const placed = listPlaced(own.map(([, record]) => record));
  const longestOf = (isWanted: (namespace: string) => boolean) =>
    Math.max(
      ...models
        .filter(({ namespace }) => isWanted(namespace))
        .map((model) => served.get(keyOf(model))! - waiting.get(keyOf(model))!.askedAt),
    ) / 1_000;
  return {
    deployments: models.length,
    served: served.size,
    seconds,
    longestWaitSeconds: {
      large: longestOf((namespace) => namespace === large),
      others: longestOf((namespace) => namespace !== large),
    },
    inversions: countInversions(models, placed, (model) => waiting.get(keyOf(model))!.askedAt),
    shareAtHalf: shareAtHalf(models, placed, large),
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

function countInversions(
  models: readonly ModelName[],
  placed: ReadonlyMap<string, number>,
  askedAt: (model: ModelName) => number,
) {
  let [count, pairs] = [0, 0];
  for (const group of Map.groupBy(models, ({ namespace }) => namespace).values())
    for (const [index, first] of group.entries())
      for (const second of group.slice(index + 1)) {
        if (askedAt(second) - askedAt(first) < MIN_GAP_MS) continue;
        pairs++;
        if (placed.get(keyOf(first))! > placed.get(keyOf(second))! + TOLERANCE_MS) count++;
      }
  return { count, pairs };
}

function shareAtHalf(
  models: readonly ModelName[],
  placed: ReadonlyMap<string, number>,
  large: string,
): StormFigures['shareAtHalf'] {
  const order = [...placed].sort((a, b) => a[1] - b[1]).slice(0, Math.ceil(models.length / 2));
  const shares = new Map(models.map(({ namespace }) => [namespace, 0]));
  for (const [key] of order) {
    const namespace = key.split('/')[0]!;
    shares.set(namespace, shares.get(namespace)! + 1);
  }
  const others = [...shares].filter(([namespace]) => namespace !== large).map(([, share]) => share);
  return { large: shares.get(large)!, others: [Math.min(...others), Math.max(...others)] };
}
