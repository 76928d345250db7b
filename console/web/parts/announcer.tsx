/** Tells screen readers what an action came to, where the page itself only changes. */
import { VisuallyHidden } from '@mantine/core';
import { useSyncExternalStore } from 'react';

let current = '';
const listeners = new Set<() => void>();

/** Read aloud once the reader pauses. The same words twice in a row are told twice. */
export function announce(words: string): void {
  // A region whose text does not change is not read again: a space that cannot be heard makes it another text.
  current = words === current ? `${words}\u00a0` : words;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Belongs into the page once, from its beginning: what appears together with its text is not read. */
export function Announcer() {
  const words = useSyncExternalStore(subscribe, () => current);
  return (
    <VisuallyHidden aria-live="polite" data-testid="announcer">
      {words}
    </VisuallyHidden>
  );
}
