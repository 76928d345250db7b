/** Redis' announcements of requests and deliveries, for live pages. */
import { channels } from '../../../api/redis-keys.ts';
import type { RedisSettings } from '../../../redis/client.ts';
import { type Subscription, subscribe } from '../../../redis/subscription.ts';
import type { AnnouncedTopic } from '../../api.ts';
import type { Feeds } from './feeds.ts';

const CHANNEL = /^n:\{([^{}]+)\}:(events|jobs)(:|$)/;
/** An event is in the outbox once a request has ended, and a job waits once one was submitted. */
const TOPICS: Record<string, readonly AnnouncedTopic[]> = {
  events: ['requests', 'deliveries'],
  jobs: ['requests'],
};

/** null: not shown on pages. */
export function readAnnouncement(
  channel: string,
): { namespace: string; topics: readonly AnnouncedTopic[] } | null {
  const [, namespace, kind] = CHANNEL.exec(channel) ?? [];
  return namespace && kind ? { namespace, topics: TOPICS[kind]! } : null;
}

/** Over a connection of its own: workspaces publish there, and a flood must not keep ended sessions from being noticed. */
export const followAnnouncements = (settings: RedisSettings, feeds: Pick<Feeds, 'announce'>): Subscription =>
  subscribe(settings, [channels.allEvents, channels.allJobs], {
    onMessage: (_, channel) => {
      const announcement = readAnnouncement(channel);
      if (announcement) feeds.announce(announcement.namespace, announcement.topics);
    },
    // Pages find missed changes by polling.
    onResume: () => {},
  });
