/** What a page is told of its feed's news: what its user may read. */
import type { AnnouncedTopic } from '../../api.ts';
import type { LiveListener } from './feed.ts';

/** Passes on what is new to this user; where only something hidden changed, not even that it did. */
export function hideNews(mayRead: Record<AnnouncedTopic, boolean>, tell: LiveListener): LiveListener {
  let told: string | undefined;
  return ({ watched, changed }) => {
    const visible = changed.filter((topic) => !(topic in mayRead) || mayRead[topic as AnnouncedTopic]);
    const names = watched.join();
    if (visible.length === 0 && names === told) return;
    told = names;
    tell({ watched, changed: visible });
  };
}
