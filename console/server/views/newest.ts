/** Merges lists that are read page by page, so that no more of them is read than is shown. */

export interface Source<T> {
  /** The next at most `limit` of them, newest first; fewer where there are no more. */
  read(limit: number): Promise<T[]>;
}

/** What many deployments may have in memory at once, however many there are. */
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

/** The newest `limit` of all sources. */
export async function mergeNewest<T>(
  sources: readonly Source<T>[],
  { limit, timeOf }: MergeOptions<T>,
): Promise<T[]> {
  const size = Math.min(limit, Math.max(MIN_PAGE, Math.ceil(limit / sources.length)));
  const pages = sources.map((source): Page<T> => ({ source, items: [], isEnd: false }));
  const newest: T[] = [];
  while (newest.length < limit) {
    await fill(pages, size);
    const next = findNewest(pages, timeOf);
    if (!next) break;
    newest.push(next.items.shift()!);
  }
  return newest;
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

/** The page whose first item is the newest; the earlier one of two that are equal. */
function findNewest<T>(pages: Page<T>[], timeOf: (item: T) => number): Page<T> | undefined {
  let newest: Page<T> | undefined;
  for (const page of pages)
    if (page.items.length > 0 && (!newest || timeOf(page.items[0]!) > timeOf(newest.items[0]!)))
      newest = page;
  return newest;
}
