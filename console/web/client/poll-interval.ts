/** How often a page reads again what the server does not watch. */
const MIN_INTERVAL_MS = 3_000;
const MAX_INTERVAL_MS = 15_000;
/** Share of the time for which nothing has changed. */
const SHARE = 0.25;

/** The data that a query had, and since when. */
const unchanged = new WeakMap<object, { data: unknown; since: number }>();

/** Less often the longer nothing has changed; for `refetchInterval`. */
export function choosePollInterval(query: { state: { data: unknown } }): number {
  const { data } = query.state;
  const known = unchanged.get(query);
  // Equal data stays the same object.
  if (!known || known.data !== data) {
    unchanged.set(query, { data, since: Date.now() });
    return MIN_INTERVAL_MS;
  }
  const quietMs = Date.now() - known.since;
  return Math.min(MAX_INTERVAL_MS, Math.max(MIN_INTERVAL_MS, Math.round(quietMs * SHARE)));
}
