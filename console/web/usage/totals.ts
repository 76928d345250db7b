/** Sums over the points of a time range, and numbers as people read them. Pure. */
import type { UsagePoint } from '../../api.ts';

export interface Totals {
  requests: number;
  /** Ours and theirs. */
  errors: number;
  inputTokens: number;
  outputTokens: number;
  images: number;
  videos: number;
  videoSeconds: number;
  mostQueued: number;
  /** The worst of all steps; null where nothing was timed. */
  worstP95Ms: number | null;
}

export function sumUp(points: UsagePoint[]): Totals {
  const sum = (pick: (point: UsagePoint) => number) =>
    points.reduce((total, point) => total + pick(point), 0);
  const timed = points.flatMap(({ p95Ms }) => (p95Ms === null ? [] : [p95Ms]));
  return {
    requests: sum(({ requests }) => requests),
    errors: sum(countErrors),
    inputTokens: sum(({ inputTokens }) => inputTokens),
    outputTokens: sum(({ outputTokens }) => outputTokens),
    images: sum(({ images }) => images),
    videos: sum(({ videos }) => videos),
    videoSeconds: sum(({ videoSeconds }) => videoSeconds),
    mostQueued: Math.max(0, ...points.map(({ queued }) => queued)),
    worstP95Ms: timed.length > 0 ? Math.max(...timed) : null,
  };
}

export const countErrors = ({ clientErrors, rateLimited, serverErrors }: UsagePoint): number =>
  clientErrors + rateLimited + serverErrors;

const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

export const formatCount = (count: number): string =>
  count < 10_000 ? count.toLocaleString('en') : compact.format(count);

/** `noun` takes an s for its plural. */
export const countOf = (count: number, noun: string): string =>
  `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;

export function formatMs(ms: number | null): string {
  if (ms === null) return '–';
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  return `${(ms / 60_000).toFixed(1)} min`;
}
