/** What charts show of a deployment's load, and where the requests of a time are. Pure. */
import type { UsageView } from '../../api.ts';
import { formatCount } from '../usage/totals.ts';

const LABELS = {
  inflightPeak: 'In flight',
  runningPeak: 'Running',
  engineWaitingPeak: 'Waiting in the engine',
  slotWaitingPeak: 'Waiting in the gateway',
} as const;
export type Peak = keyof typeof LABELS;
const PEAKS = Object.keys(LABELS) as Peak[];

type Peaks = Pick<UsageView['total'], Peak>;

/** Those in flight, and the others that there were. */
export const listPeaks = (total: Peaks): { name: Peak; label: string }[] =>
  PEAKS.filter((name) => name === 'inflightPeak' || total[name] > 0).map((name) => ({
    name,
    label: LABELS[name],
  }));

/** Such as "12 in flight, 4 running". */
export function describePeaks(total: Peaks): string {
  const peaks = listPeaks(total);
  return peaks.map(({ name, label }) => `${formatCount(total[name])} ${label.toLowerCase()}`).join(', ');
}

/** A gateway writes 10 s after the end of the last write, and what it saw counts for the time at which it begins to. */
const WRITE_INTERVAL_MS = 15_000;
/** For so long requests are listed. */
const KEPT_MS = 86_400_000;

interface Step {
  /** ISO; its start. */
  at: string;
  seconds: number;
}

/** The page of the requests that were in progress within a step; undefined: they are no longer kept. */
export function locateRequests(
  namespace: string,
  deployment: string,
  { at, seconds }: Step,
  now: number,
): string | undefined {
  const start = Date.parse(at);
  if (start + seconds * 1_000 <= now - KEPT_MS) return undefined;
  const query = {
    ...{ view: 'all', deployment },
    since: new Date(start - WRITE_INTERVAL_MS).toISOString(),
    until: new Date(start + seconds * 1_000).toISOString(),
  };
  return `/${namespace}/requests?${new URLSearchParams(query)}`;
}
