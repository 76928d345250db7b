/** Numbers of a time range as people read them. Pure. */
import type { UsagePoint } from '../../api.ts';

type Counts = Pick<UsagePoint, 'clientErrors' | 'rateLimited' | 'serverErrors'>;

/** Ours and theirs. */
export const countErrors = ({ clientErrors, rateLimited, serverErrors }: Counts): number =>
  clientErrors + rateLimited + serverErrors;

const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

export const formatCount = (count: number): string =>
  count < 10_000 ? count.toLocaleString('en', { maximumFractionDigits: 1 }) : compact.format(count);

/** `noun` takes an s for its plural. */
export const countOf = (count: number, noun: string): string =>
  `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;

export function formatMs(ms: number | null): string {
  if (ms === null) return '–';
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  return `${(ms / 60_000).toFixed(1)} min`;
}
