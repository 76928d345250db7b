/** What the server watches for this page, so that it needs no polling. */
import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { useEffect, useSyncExternalStore } from 'react';
import type { LiveTopic, LiveUpdate, WatchedTopic } from '../../api.ts';

/** For what is not watched. */
const POLL_INTERVAL_MS = 3_000;
/** In case the watch missed something. */
const WATCHED_INTERVAL_MS = 60_000;

/** Keys of queries below the namespace's; single requests are left out, since each read makes their results load again. */
const QUERIES: Record<LiveTopic, string[][]> = {
  deployments: [['deployments'], ['problems']],
  replicas: [['replicas']],
  events: [['events']],
  requests: [['requests', 'pages']],
  deliveries: [['deliveries', 'pages'], ['problems']],
};

let watched: readonly WatchedTopic[] = [];
const listeners = new Set<() => void>();

function setWatched(topics: readonly WatchedTopic[]): void {
  watched = topics;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** For `refetchInterval`. */
export const usePollInterval = (topic: WatchedTopic): number =>
  useSyncExternalStore(subscribe, () => watched.includes(topic)) ? WATCHED_INTERVAL_MS : POLL_INTERVAL_MS;

/** Reads again what has changed, as long as the page can be seen: browsers allow few connections to one server. */
export function useLiveUpdates(base: string): void {
  const cache = useQueryClient();
  useEffect(() => {
    let source: EventSource | undefined;
    const disconnect = () => {
      source?.close();
      source = undefined;
      setWatched([]);
    };
    const follow = () => {
      if (document.hidden) disconnect();
      else source ??= open(cache, base);
    };
    follow();
    document.addEventListener('visibilitychange', follow);
    return () => {
      document.removeEventListener('visibilitychange', follow);
      disconnect();
    };
  }, [cache, base]);
}

function open(cache: QueryClient, base: string): EventSource {
  const source = new EventSource(`${base}/live`);
  source.addEventListener('message', ({ data }) => {
    const update = JSON.parse(data) as LiveUpdate;
    setWatched(update.watched);
    const keys = update.changed.flatMap((topic) => QUERIES[topic]);
    for (const key of keys) void cache.invalidateQueries({ queryKey: [base, ...key] });
  });
  // It connects again by itself, unless it was refused.
  source.addEventListener('error', () => setWatched([]));
  return source;
}
