/** How long a caller is willing to wait: `Prefer: wait=N` (RFC 7240). */

const WAIT = /^\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:;|$)/i;

/** Whole seconds; null if absent. The first one counts. */
export function readPreferredWait(header: string | string[] | undefined): number | null {
  if (header === undefined) return null;
  for (const preference of [header].flat().join(',').split(',')) {
    const seconds = WAIT.exec(preference)?.[1];
    if (seconds !== undefined) return Number(seconds);
  }
  return null;
}
