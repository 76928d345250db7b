/** What the server watches for this page, so that it needs no polling. */
import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { useEffect, useSyncExternalStore } from 'react';
import type { LiveTopic, LiveUpdate, WatchedTopic } from '../../api.ts';
import { locate, type Route, routes } from '../../routes.ts';
import { refresh, useNamespace } from './namespace.ts';

/** For what is not watched. */
const POLL_INTERVAL_MS = 3_000;
/** In case the watch missed something. */
const WATCHED_INTERVAL_MS = 60_000;

/** What shows a topic; single requests are left out, since each read makes their results load again. */
const SHOWN: Record<LiveTopic, Route[]> = {
  deployments: [routes.listDeployments, routes.readDeployment, routes.readManifest, routes.listProblems],
  replicas: [routes.listReplicas],
  events: [routes.listEvents],
  requests: [routes.listRequests],
  deliveries: [routes.listDeliveries, routes.listProblems],
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
export function useLiveUpdates(): void {
  const namespace = useNamespace();
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
      else source ??= open(cache, namespace);
    };
    follow();
    document.addEventListener('visibilitychange', follow);
    return () => {
      document.removeEventListener('visibilitychange', follow);
      disconnect();
    };
  }, [cache, namespace]);
}

function open(cache: QueryClient, namespace: string): EventSource {
  const source = new EventSource(locate(routes.followChanges, { namespace }));
  source.addEventListener('message', ({ data }) => {
    const update = JSON.parse(data) as LiveUpdate;
    setWatched(update.watched);
    void refresh(
      cache,
      namespace,
      update.changed.flatMap((topic) => SHOWN[topic]),
      // A list without pages is read for its names only, from time to time.
      (args) => args.limit === undefined || 'after' in args,
    );
  });
  // It connects again by itself, unless it was refused.
  source.addEventListener('error', () => setWatched([]));
  return source;
}
