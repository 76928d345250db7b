/** Paginated lists, newest first, with polling. */
import { Button } from '@mantine/core';
import { keepPreviousData, type UseInfiniteQueryResult, useInfiniteQuery } from '@tanstack/react-query';
import { call } from '../client/call.ts';

interface Paged<T> {
  /** Path of the collection, such as `/api/namespaces/team/requests`. */
  path: string;
  /** Sent with each page; empty ones are left out. */
  filters: Record<string, string>;
  pageSize: number;
  keyOf: (entry: T) => string;
  /** The cursor for the next page; the entry's key if absent. */
  cursorOf?: (last: T) => string;
}

/** The last page is shorter than the others, or empty. */
export function usePagedQuery<T>({ path, filters, pageSize, keyOf, cursorOf = keyOf }: Paged<T>) {
  const wanted = Object.entries(filters).filter(([, value]) => value !== '');
  return useInfiniteQuery({
    queryKey: [path.slice(0, path.lastIndexOf('/')), path.slice(path.lastIndexOf('/') + 1), 'pages', wanted],
    queryFn: ({ pageParam, signal }) => {
      const query = new URLSearchParams([...wanted, ['limit', String(pageSize)]]);
      if (pageParam) query.set('after', pageParam);
      return call<T[]>('GET', `${path}?${query}`, undefined, signal);
    },
    initialPageParam: '',
    getNextPageParam: (page) => (page.length < pageSize ? undefined : cursorOf(page.at(-1)!)),
    placeholderData: keepPreviousData,
    select: ({ pages }) => dropRepeats(pages.flat(), keyOf),
  });
}

/** New entries between two reads move others to the next page. */
function dropRepeats<T>(entries: T[], keyOf: (entry: T) => string): T[] {
  return [...new Map(entries.map((entry) => [keyOf(entry), entry])).values()];
}

type Pages = Pick<UseInfiniteQueryResult, 'hasNextPage' | 'isFetchingNextPage' | 'fetchNextPage'>;

/** Fetches the next page. */
export function MoreButton({ query }: { query: Pages }) {
  if (!query.hasNextPage) return null;
  return (
    <Button
      variant="default"
      w="fit-content"
      loading={query.isFetchingNextPage}
      onClick={() => void query.fetchNextPage()}
    >
      Show older
    </Button>
  );
}
