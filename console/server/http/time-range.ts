/** Time filters of lists. */
import { z } from 'zod';
import { USAGE_RANGES, type UsageRange } from '../../api.ts';

const time = z.iso.datetime({ offset: true }).or(z.literal('')).optional();

/** Fields of a query; `within` counts back from now. */
export const timeFilters = {
  within: z.enum(['', ...USAGE_RANGES]).optional(),
  since: time,
  until: time,
};

const HOUR_MS = 3_600_000;
const RANGE_MS: Record<UsageRange, number> = {
  '1h': HOUR_MS,
  '6h': 6 * HOUR_MS,
  '24h': 24 * HOUR_MS,
  '7d': 7 * 24 * HOUR_MS,
  '30d': 30 * 24 * HOUR_MS,
};

/** Unix milliseconds; `before` is exclusive. */
export interface TimeSpan {
  since?: number;
  before?: number;
}

/** Whether something that took so long until it ended was in progress at any time of the span. */
export const wasInProgress = (
  { since = Number.NEGATIVE_INFINITY, before = Number.POSITIVE_INFINITY }: TimeSpan,
  { endedAt, durationMs }: { endedAt: number; durationMs: number },
): boolean => endedAt >= since && endedAt - durationMs < before;

interface Filters {
  within?: UsageRange | '' | undefined;
  since?: string | undefined;
  until?: string | undefined;
}

export function readTimeSpan({ within, since, until }: Filters, now: number): TimeSpan {
  const from = within ? now - RANGE_MS[within] : since ? Date.parse(since) : undefined;
  return { ...(from !== undefined && { since: from }), ...(until && { before: Date.parse(until) }) };
}
