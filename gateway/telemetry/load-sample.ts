/** Samples of what a deployment's engines do, for its charts: by the heartbeats of its replicas. */
import type { Heartbeat } from '../../api/redis-keys.ts';
import { isCount } from '../../redis/untrusted-values.ts';
import type { UsageCounter } from '../../redis/usage/usage.ts';
import type { DeploymentUsage } from './usage.ts';

export type LoadReport = Pick<Heartbeat, 'inflight' | 'waiting' | 'running' | 'queued' | 'cacheUse'>;

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

/** The sums of all replicas. Those that ran are known only if the engine of each replica with two requests tells. */
function measureLoad(replicas: readonly LoadReport[]): [UsageCounter, number][] {
  const isKnown = ({ running }: LoadReport) => running !== undefined;
  const areAllKnown = replicas.every((replica) => replica.inflight <= 1 || isKnown(replica));
  // A single request runs.
  const countRunning = ({ running, inflight }: LoadReport) =>
    running === undefined ? readCount(inflight) : Math.min(readCount(running), readCount(inflight));
  return [
    ['inflightPeak', sum(replicas, ({ inflight }) => readCount(inflight))],
    ['runningPeak', replicas.some(isKnown) && areAllKnown ? sum(replicas, countRunning) : 0],
    [
      'engineWaitingPeak',
      sum(replicas, ({ waiting, inflight }) => Math.min(readCount(waiting), readCount(inflight))),
    ],
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
