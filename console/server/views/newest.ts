/** Merges paged lists without reading more than is shown. */

export interface Source<T> {
  /** The next at most `limit` of them, newest first; fewer if there are no more, or the search stopped. */
  read(limit: number): Promise<T[]>;
  /** Where the search stopped, with possibly more older ones; absent or null: it did not. */
  stoppedAt?(): number | null;
}

/** Memory limit for any number of deployments. */
const READ_AT_ONCE = 8;
const MIN_PAGE = 5;

interface Page<T> {
  source: Source<T>;
  items: T[];
  isEnd: boolean;
}

export interface MergeOptions<T> {
  limit: number;
  timeOf: (item: T) => number;
}

export interface Newest<T> {
  items: T[];
  /** Sources stopped searching: items older than this are unknown. null: complete. */
  stoppedAt: number | null;
}

/** The newest `limit` of all sources. */
export async function mergeNewest<T>(
  sources: readonly Source<T>[],
  { limit, timeOf }: MergeOptions<T>,
): Promise<Newest<T>> {
  const size = Math.min(limit, Math.max(MIN_PAGE, Math.ceil(limit / sources.length)));
  const pages = sources.map((source): Page<T> => ({ source, items: [], isEnd: false }));
  const items: T[] = [];
  while (items.length < limit) {
    await fill(pages, size);
    const next = findNewest(pages, timeOf);
    const stoppedAt = findStop(pages);
    if (stoppedAt !== null && (!next || timeOf(next.items[0]!) < stoppedAt)) return { items, stoppedAt };
    if (!next) break;
    items.push(next.items.shift()!);
  }
  return { items, stoppedAt: null };
}

async function fill<T>(pages: Page<T>[], size: number): Promise<void> {
  const empty = pages.filter(({ items, isEnd }) => items.length === 0 && !isEnd);
  for (let at = 0; at < empty.length; at += READ_AT_ONCE)
    await Promise.all(
      empty.slice(at, at + READ_AT_ONCE).map(async (page) => {
        page.items = await page.source.read(size);
        page.isEnd = page.items.length < size;
      }),
    );
}

/** The newest time at which an exhausted source stopped searching. */
function findStop<T>(pages: Page<T>[]): number | null {
  const times = pages
    .filter(({ items, isEnd }) => items.length === 0 && isEnd)
    .flatMap(({ source }) => source.stoppedAt?.() ?? []);
  return times.length === 0 ? null : Math.max(...times);
}

/** The page whose first item is the newest; the earlier one of equal ones. */
function findNewest<T>(pages: Page<T>[], timeOf: (item: T) => number): Page<T> | undefined {
  let newest: Page<T> | undefined;
  for (const page of pages)
    if (page.items.length > 0 && (!newest || timeOf(page.items[0]!) > timeOf(newest.items[0]!)))
      newest = page;
  return newest;
}
