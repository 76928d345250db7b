/** Which headers of a receiver's response the delivery log keeps. */
import type { IncomingHttpHeaders } from 'node:http';

/** They show who responded and what to do about it; cookies and challenges are not logged. */
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
/** Total size as stored in the log: JSON within JSON, where a backslash takes four bytes. */
const MAX_STORED_CHARACTERS = 640;
const UNPRINTABLE = /[^\x20-\x7e]/g;

/** Headers that do not fit are omitted. */
export function keepAnswerHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const kept: Record<string, string> = {};
  let left = MAX_STORED_CHARACTERS;
  for (const name of KEPT) {
    if (headers[name] === undefined) continue;
    const value = String(headers[name]).replaceAll(UNPRINTABLE, '?').slice(0, MAX_CHARACTERS);
    const stored = JSON.stringify(JSON.stringify({ [name]: value })).length;
    if (stored > left) continue;
    left -= stored;
    kept[name] = value;
  }
  return kept;
}
