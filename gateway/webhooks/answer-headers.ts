/** Which headers of a receiver's answer the log of deliveries keeps. */
import type { IncomingHttpHeaders } from 'node:http';

/** They tell who answered and what to do about it; cookies and challenges are nobody's business here. */
const KEPT = [
  'content-type',
  'content-length',
  'date',
  'location',
  'retry-after',
  'server',
  'via',
  'x-request-id',
] as const;
const MAX_CHARACTERS = 120;
const UNPRINTABLE = /[^\x20-\x7e]/g;

export const keepAnswerHeaders = (headers: IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(
    KEPT.flatMap((name) => {
      const value = headers[name];
      if (value === undefined) return [];
      return [[name, String(value).replaceAll(UNPRINTABLE, '?').slice(0, MAX_CHARACTERS)]];
    }),
  );
