/** A page's filters, kept in its address. */
import { useSearchParams } from 'react-router';

type Changes = Record<string, string | null>;

interface Filters {
  search: URLSearchParams;
  /** Each change is an entry of the history, so that Back undoes it; `replace` for what is typed letter by letter. */
  change: (changes: Changes, options?: { replace?: boolean }) => void;
  /** The address of this page with these changes, for links. */
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
