/** Lists a resource page by page. */
import { isGone, isTooLarge } from './api-error.ts';
import type { ListPage, Selection } from './call.ts';
import type { KubeClient } from './client.ts';
import type { Listing } from './list-comparison.ts';
import { type KubeObject, objectKey } from './object.ts';
import type { Resource } from './resource.ts';

/** A page that is too large is requested again in so many parts. */
const PAGE_DIVISOR = 8;

export interface PagedList<T extends KubeObject, R> {
  resource: Resource;
  selection: Selection;
  pageSize: number;
  signal: AbortSignal;
  /** What is kept of an object; undefined omits it. */
  keep: (object: T) => R | undefined;
  onPage: () => void;
}

/** If the continue token expires, the list is repeated in one piece. */
export async function listInPages<T extends KubeObject, R>(
  client: Pick<KubeClient, 'list'>,
  options: PagedList<T, R>,
): Promise<Listing<R>> {
  try {
    return await listPages(client, options, options.pageSize);
  } catch (error) {
    if (!isGone(error)) throw error;
    return listPages(client, options, undefined);
  }
}

/**
 * Trims page by page, so that no more than one of them is in memory in full; of objects that are too large for a page
 * fewer make one.
 */
async function listPages<T extends KubeObject, R>(
  client: Pick<KubeClient, 'list'>,
  { resource, selection, pageSize, signal, keep, onPage }: PagedList<T, R>,
  most: number | undefined,
): Promise<Listing<R>> {
  let limit = most;
  const objects = new Map<string, R>();
  let next: string | undefined;
  for (;;) {
    let page: ListPage<T>;
    try {
      page = await client.list<T>(resource, { ...selection, limit, continue: next, signal });
    } catch (error) {
      if (!isTooLarge(error) || limit === 1) throw error;
      limit = limit === undefined ? pageSize : Math.ceil(limit / PAGE_DIVISOR);
      continue;
    }
    onPage();
    for (const object of page.items) {
      const kept = keep(object);
      if (kept !== undefined) objects.set(objectKey(object), kept);
    }
    next = page.metadata.continue || undefined;
    if (!next) return { objects, resourceVersion: page.metadata.resourceVersion };
  }
}
