/** Which replica serves a request: the one that its prefix routes to, unless that has more than its share of load. Pure. */
import { mixBits } from './prefix-hash.ts';

export interface ReplicaLoad {
  /** Requests at its engine. */
  inflight: number;
  /** The same over the last seconds. */
  average: number;
}

export interface Choosable extends ReplicaLoad {
  /** A hash of the replica's name, the same at all gateways. */
  seed: number;
  /** Slots; null = unlimited. */
  limit: number | null;
  /** True for the gateway that chooses. */
  isOwn: boolean;
}

/** Load limits of a replica for one more request routed to it. */
export interface LoadBounds {
  /** Below this load it is always accepted. */
  share: number;
  /** Below this load it is accepted while the replica's average is not above others': arrivals are random. */
  burst: number;
  mostOnAverage: number;
}

/** A replica with more than this multiple of the mean load is not chosen by prefix for long. */
export const MAX_LOAD_OVER_MEAN = 1.25;
/** Below that limit, since an average lags behind. */
const MAX_AVERAGE_OVER_MEAN = 1.15;
/** In standard deviations of random arrivals. */
const BURST_DEVIATIONS = 1.5;
/** So many at once are no load for any engine. */
const MIN_SHARE = 2;

export function computeBounds(loads: readonly ReplicaLoad[]): LoadBounds {
  let total = 1;
  let averages = 0;
  for (const { inflight, average } of loads) {
    total += inflight;
    averages += average;
  }
  const share = (MAX_LOAD_OVER_MEAN * total) / loads.length;
  return {
    share: Math.max(MIN_SHARE, Math.floor(share)),
    burst: Math.ceil(share + BURST_DEVIATIONS * Math.sqrt(total / loads.length)),
    mostOnAverage: (MAX_AVERAGE_OVER_MEAN * averages) / loads.length,
  };
}

export const isWithin = (
  { inflight, average }: ReplicaLoad,
  { share, burst, mostOnAverage }: LoadBounds,
): boolean => inflight < share || (inflight < burst && average <= mostOnAverage);

/**
 * Consistent hashing with bounded load: the first replica in the order of the prefix (rendezvous hashing) that is within the
 * bounds. The least loaded where none is within; null where all are full.
 */
export function chooseReplica<T extends Choosable>(prefix: number, replicas: readonly T[]): T | null {
  const bounds = computeBounds(replicas);
  let chosen: T | null = null;
  let highest = -1;
  let least: T | null = null;
  for (const replica of replicas) {
    const { seed, inflight, limit, isOwn } = replica;
    if (limit !== null && inflight >= limit) continue;
    if (least === null || inflight < least.inflight || (inflight === least.inflight && isOwn))
      least = replica;
    if (!isWithin(replica, bounds)) continue;
    const weight = mixBits(prefix ^ seed);
    if (weight <= highest) continue;
    highest = weight;
    chosen = replica;
  }
  return chosen ?? least;
}
