/** Long lists, newest first: one page at a time, so that neither reading nor drawing grows with the list. */
import { Button, Group } from '@mantine/core';
import { keepPreviousData } from '@tanstack/react-query';
import { Link, useLocation, useNavigate } from 'react-router';
import type { Route } from '../../routes.ts';
import { useRead } from '../client/namespace.ts';
import { useFilters } from './filters.ts';

/** In the page's URL: the cursor that the page begins after; the newest entries if absent. */
const AFTER = 'after';

interface Paged<Page> {
  route: Route<string, undefined, Page>;
  /** Sent with each page; empty ones are left out. */
  filters: Record<string, string>;
  pageSize: number;
  /** Where the page after this one begins; null: there is none. */
  olderOf: (page: Page) => string | null;
}

/** `older`: the cursor of the next page; null on the last one. `filter`: changes filters, and shows the newest entries that they let through. */
export function usePagedQuery<Page>({ route, filters, pageSize, olderOf }: Paged<Page>) {
  const { search, change } = useFilters();
  const after = search.get(AFTER) ?? '';
  const query = useRead<Route<string, undefined, Page>>(
    route,
    { ...filters, [AFTER]: after, limit: String(pageSize) },
    { placeholderData: keepPreviousData },
  );
  const filter: typeof change = (changes, options) => change({ ...changes, [AFTER]: null }, options);
  const { data, isPlaceholderData } = query;
  return { query, older: data === undefined || isPlaceholderData ? null : olderOf(data), filter };
}

/** State of history entries that were reached by turning a page. */
const TURNED_STATE = { isTurned: true };

/** `label`: such as "Request pages". */
export function PageTurner({ label, older }: { label: string; older: string | null }) {
  const { search, linkTo, change } = useFilters();
  const navigate = useNavigate();
  const { state } = useLocation();
  const isFirst = !search.has(AFTER);
  if (isFirst && older === null) return null;
  const turnBack = () => {
    toTop();
    if ((state as typeof TURNED_STATE | null)?.isTurned) void navigate(-1);
    else change({ [AFTER]: null });
  };
  return (
    <Group component="nav" aria-label={label} gap="xs">
      <Button
        variant="default"
        data-disabled={isFirst || undefined}
        aria-disabled={isFirst}
        onClick={isFirst ? undefined : turnBack}
      >
        Newer
      </Button>
      {older === null ? (
        <Button variant="default" data-disabled aria-disabled>
          Older
        </Button>
      ) : (
        <Button
          variant="default"
          component={Link}
          to={linkTo({ [AFTER]: older })}
          state={TURNED_STATE}
          onClick={toTop}
        >
          Older
        </Button>
      )}
    </Group>
  );
}

const toTop = () => window.scrollTo({ top: 0 });
