/** Which runs stand in the way of further ones. Pure. */

/** Results that have been on their way for longer wait for a store that is away. */
const WAITING_MS = 60_000;
/** Their files are on this replica's disk, which others need. */
const MOST_WAITING = 16;

/** A store that is away holds up what goes there, and no other jobs, as long as there is room on disk. */
export function countInTheWay(
  runs: Iterable<{ deliveringMs: number }>,
  spool: () => { isHalfFree: boolean },
): number {
  const all = [...runs];
  const waiting = all.filter(({ deliveringMs }) => deliveringMs > WAITING_MS).length;
  return waiting > 0 && spool().isHalfFree ? all.length - Math.min(waiting, MOST_WAITING) : all.length;
}
