/** Samples of what a deployment's engines do, for its charts: by the heartbeats of its replicas. */
import type { Heartbeat } from '../../api/redis-keys.ts';
import { isCount } from '../../redis/untrusted-values.ts';
import type { UsageCounter } from '../../redis/usage/usage.ts';
import type { DeploymentUsage } from './usage.ts';

export type LoadReport = Pick<Heartbeat, 'inflight' | 'waiting' | 'queued' | 'cacheUse'>;

/** Every replica with work samples the whole deployment, so that Redis keeps the highest; the cache is that of its own engine. */
export function sampleLoad(
  usage: Pick<DeploymentUsage, 'add' | 'raise'>,
  own: LoadReport,
  peers: readonly LoadReport[],
): void {
  for (const [counter, amount] of measureLoad([own, ...peers])) usage.raise(counter, amount);
  if (own.cacheUse === undefined) return;
  usage.add('cacheUseSum', own.cacheUse);
  usage.add('cacheUseSamples');
  usage.raise('cacheUsePeak', own.cacheUse);
}

/** The sums of all replicas. Those that ran are known only if each replica with two requests tells who waits within its engine. */
function measureLoad(replicas: readonly LoadReport[]): [UsageCounter, number][] {
  const inflight = sum(replicas, (replica) => replica.inflight);
  const waiting = sum(replicas, (replica) => Math.min(readCount(replica.waiting), replica.inflight));
  const isKnown = (replica: LoadReport) => replica.waiting !== undefined;
  const areAllKnown = replicas.every((replica) => replica.inflight <= 1 || isKnown(replica));
  return [
    ['inflightPeak', inflight],
    ['runningPeak', replicas.some(isKnown) && areAllKnown ? inflight - waiting : 0],
    ['engineWaitingPeak', waiting],
    ['slotWaitingPeak', sum(replicas, (replica) => readCount(replica.queued))],
  ];
}

/** A workspace's own Redis user may have written a peer's heartbeat. */
const readCount = (value: number | undefined): number => (isCount(value) ? value! : 0);

const sum = (replicas: readonly LoadReport[], read: (replica: LoadReport) => number): number =>
  Math.min(
    replicas.reduce((total, replica) => total + read(replica), 0),
    Number.MAX_SAFE_INTEGER,
  );
