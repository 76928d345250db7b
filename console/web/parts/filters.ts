/** A page's filters, stored in its URL. */
import { useSearchParams } from 'react-router';

type Changes = Record<string, string | null>;

interface Filters {
  search: URLSearchParams;
  /** Each change is a history entry, so that Back undoes it; `replace` for text input. */
  change: (changes: Changes, options?: { replace?: boolean }) => void;
  /** The URL of this page with these changes, for links. */
  linkTo: (changes: Changes) => { search: string };
}

export function useFilters(): Filters {
  const [search, setSearch] = useSearchParams();
  return {
    search,
    change: (changes, { replace = false } = {}) =>
      setSearch((before) => applyChanges(before, changes), { replace }),
    linkTo: (changes) => ({ search: `?${applyChanges(search, changes)}` }),
  };
}

function applyChanges(before: URLSearchParams, changes: Changes): URLSearchParams {
  const after = new URLSearchParams(before);
  for (const [name, value] of Object.entries(changes))
    if (value) after.set(name, value);
    else after.delete(name);
  return after;
}
