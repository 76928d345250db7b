/** How long a caller would wait by itself: `Prefer: wait=N` (RFC 7240). */

const WAIT = /^\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:;|$)/i;

/** Whole seconds; null where nothing is said. The first one counts. */
export function readPreferredWait(header: string | string[] | undefined): number | null {
  if (header === undefined) return null;
  for (const preference of [header].flat().join(',').split(',')) {
    const seconds = WAIT.exec(preference)?.[1];
    if (seconds !== undefined) return Number(seconds);
  }
  return null;
}
