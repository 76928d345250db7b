/** The part of a feed's updates that a page's user may read. */
import type { AnnouncedTopic } from '../../api.ts';
import type { LiveListener } from './feed.ts';

/** Passes on what is new to this user; where only something hidden changed, not even that it did. */
export function hideChanges(mayRead: Record<AnnouncedTopic, boolean>, notify: LiveListener): LiveListener {
  let lastNotified: string | undefined;
  return ({ watched, changed }) => {
    const visible = changed.filter((topic) => !(topic in mayRead) || mayRead[topic as AnnouncedTopic]);
    const names = watched.join();
    if (visible.length === 0 && names === lastNotified) return;
    lastNotified = names;
    notify({ watched, changed: visible });
  };
}
