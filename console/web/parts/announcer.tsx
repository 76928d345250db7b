/** Announces results of actions to screen readers. */
import { VisuallyHidden } from '@mantine/core';
import { useSyncExternalStore } from 'react';

let current = '';
const listeners = new Set<() => void>();

/** Repeated messages are announced again. */
export function announce(text: string): void {
  // Unchanged text is not read again: a trailing space makes it different.
  current = text === current ? `${text}\u00a0` : text;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Must be in the page from the start: a region that appears together with its text is not read. */
export function Announcer() {
  const text = useSyncExternalStore(subscribe, () => current);
  return (
    <VisuallyHidden aria-live="polite" data-testid="announcer">
      {text}
    </VisuallyHidden>
  );
}
