/** A dialog that a link can open: `?new` of the page's URL. */
import { useSearchParams } from 'react-router';

/** Like `useDisclosure`; the rest of the URL's query stays. */
export function useURLDialog(name: string): readonly [boolean, { open: () => void; close: () => void }] {
  const [search, setSearch] = useSearchParams();
  const set = (isOpen: boolean) =>
    setSearch(
      (current) => {
        const changed = new URLSearchParams(current);
        if (isOpen) changed.set(name, '');
        else changed.delete(name);
        return changed;
      },
      { replace: true },
    );
  return [search.has(name), { open: () => set(true), close: () => set(false) }];
}
