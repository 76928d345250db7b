/** Formats of counts and durations of usage. Pure. */
import type { UsagePoint } from '../../api.ts';

type Counts = Pick<UsagePoint, 'clientErrors' | 'rateLimited' | 'serverErrors'>;

export const countErrors = ({ clientErrors, rateLimited, serverErrors }: Counts): number =>
  clientErrors + rateLimited + serverErrors;

const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

export const formatCount = (count: number): string =>
  count < 10_000 ? count.toLocaleString('en', { maximumFractionDigits: 1 }) : compact.format(count);

/** `noun` must form its plural with s. */
export const countOf = (count: number, noun: string): string =>
  `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;

/** Such as "2.5%". */
export function formatShare(part: number, whole: number): string {
  const percent = Number((whole > 0 ? (100 * part) / whole : 0).toFixed(1));
  return part > 0 && percent === 0 ? '<0.1%' : `${percent}%`;
}

export function formatMs(ms: number | null): string {
  if (ms === null) return '–';
  if (ms < 999.5) return `${roundFigure(ms)} ms`;
  if (ms < 59_950) return `${roundFigure(ms / 1_000)} s`;
  return `${roundFigure(ms / 60_000)} min`;
}

/** Three digits: a percentile is not more exact. */
const roundFigure = (value: number): number => Number(value.toPrecision(3));
