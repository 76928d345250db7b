/** A supervised, cached view of one resource: in the whole cluster, or in some namespaces. */

import { type Clock, systemClock } from '../kit/clock.ts';
import type { Selection } from './call.ts';
import type { KubeClient } from './client.ts';
import { type Log, silentLog } from './log.ts';
import { isOlderState, type KubeObject, objectKey } from './object.ts';
import { type Indexes, type ObjectCache, WritableCache } from './object-cache.ts';
import type { Resource } from './resource.ts';
import { WatchLoop, type WatchTiming } from './watch-loop.ts';

export interface WatcherOptions<T extends KubeObject> {
  client: Pick<KubeClient, 'list' | 'watch'>;
  resource: Resource;
  /** Only these namespaces (one watch each); absent or empty: the whole cluster. */
  namespaces?: readonly string[];
  labelSelector?: string;
  indexes?: Indexes<T>;
  /** Trims what nobody reads before an object is cached, to save memory; undefined for one that is not kept at all. */
  trim?: (object: T) => T | undefined;
  /** Objects of a page (250). */
  pageSize?: number;
  /** Relist interval, in case the watch missed something (10 minutes). */
  resyncMs?: number;
  timing?: Partial<WatchTiming>;
  clock?: Clock;
  random?: () => number;
  log?: Log;
}

/** Without `old`: added. Without `current`: deleted. */
export type ChangeHandler<T extends KubeObject> = (old: T | undefined, current: T | undefined) => void;

export interface Watcher<T extends KubeObject = KubeObject> extends ObjectCache<T> {
  readonly resource: Resource;
  start(): void;
  /** Closes its connections and timers; resolves when nothing is running anymore. */
  stop(): Promise<void>;
  /** Calls the handler on every later change; returns the unsubscribe function. Handlers must be quick. */
  onChange(handler: ChangeHandler<T>): () => void;
  /**
   * Applies the result of a write before the watch delivers it, and calls the handlers. Only for a known object:
   * an unknown one may already be gone again.
   */
  absorb(written: KubeObject): void;
  /** Whether everything has been listed at least once, except namespaces that may not be read. */
  hasSynced(): boolean;
  /** Namespaces that were never listed, since they may not be read. */
  unseen(): string[];
  /** Resolves when that is so, or the signal aborts. */
  waitForSync(signal?: AbortSignal): Promise<void>;
  /** Lists everything now and calls the handlers for what the watch had missed. */
  resync(): Promise<void>;
  /** Milliseconds since the quietest watch last received something. */
  ageMs(): number;
  /** Changes that a resync found and the watch had missed, since the start. */
  missed(): number;
  /** Lists and watches that failed, since the start. */
  failures(): number;
}

const TIMING: WatchTiming = {
  watchMs: 290_000,
  staleMs: 150_000,
  backoff: { baseMs: 500, maxMs: 10_000 },
  settleMs: 5_000,
};

export function createWatcher<T extends KubeObject = KubeObject>(options: WatcherOptions<T>): Watcher<T> {
  const { client, resource, labelSelector, trim = (object) => object } = options;
  const { pageSize = 250, resyncMs = 600_000, clock = systemClock, random = Math.random } = options;
  const { log = silentLog } = options;
  const timing = { ...TIMING, ...options.timing };
  const cache = new WritableCache<T>(options.indexes);
  const handlers = new Set<ChangeHandler<T>>();
  const syncWaiters = new Set<() => void>();
  const scopes = options.namespaces?.length ? options.namespaces : [undefined];
  let cancelResync = () => {};
  let stopped = false;

  function notify(old: T | undefined, current: T | undefined): void {
    for (const handler of handlers)
      try {
        handler(old, current);
      } catch (err) {
        log.error({ resource: resource.plural, err }, 'a watch handler threw');
      }
  }

  function absorb(written: KubeObject): void {
    const { apiVersion, kind, metadata } = written;
    // A subresource may be an object of another kind.
    if (kind !== resource.kind) return;
    const known = cache.get(objectKey(written));
    // Removing the last finalizer returns an object that is gone.
    const isGone = metadata.deletionTimestamp !== undefined && !metadata.finalizers?.length;
    if (!known || isGone || !isOlderState(known, written)) return;
    const listed = resource.isListedByMetadata ? { apiVersion, kind, metadata } : written;
    const object = trim(listed as T);
    if (object) notify(cache.put(object), object);
  }

  const loops = scopes.map((namespace) => {
    const selection: Selection = { namespace, labelSelector };
    const inScope = (object: T) => namespace === undefined || object.metadata.namespace === namespace;
    return new WatchLoop<T>({
      client,
      resource,
      selection,
      pageSize,
      timing,
      clock,
      random,
      log,
      target: {
        current: () => cache.list().filter(inScope),
        get: (key) => cache.get(key),
        trim,
        put: (object) => notify(cache.put(object), object),
        remove(key) {
          const old = cache.remove(key);
          if (old) notify(old, undefined);
        },
        synced() {
          if (hasSynced()) for (const wake of syncWaiters) wake();
        },
      },
    });
  });

  const hasSynced = () =>
    loops.some((loop) => loop.hasSynced) && loops.every((loop) => loop.hasSynced || loop.isSetAside);

  function scheduleResync(): void {
    cancelResync = clock.after(resyncMs * (0.9 + random() * 0.2), async () => {
      await resync();
      if (!stopped) scheduleResync();
    });
  }

  async function resync(): Promise<void> {
    await Promise.all(loops.map((loop) => loop.resync()));
  }

  return {
    resource,
    get size() {
      return cache.size;
    },
    get: (key) => cache.get(key),
    list: () => cache.list(),
    byIndex: (index, value) => cache.byIndex(index, value),
    start() {
      for (const loop of loops) loop.start();
      scheduleResync();
    },
    async stop() {
      stopped = true;
      cancelResync();
      await Promise.all(loops.map((loop) => loop.stop()));
    },
    onChange(handler) {
      handlers.add(handler);
      return () => handlers.delete(handler);
    },
    absorb,
    hasSynced,
    unseen: () =>
      scopes.flatMap((namespace, index) =>
        namespace !== undefined && !loops[index]!.hasSynced ? [namespace] : [],
      ),
    waitForSync: (signal) =>
      new Promise((resolve) => {
        if (hasSynced() || signal?.aborted) return resolve();
        const finish = () => {
          syncWaiters.delete(finish);
          signal?.removeEventListener('abort', finish);
          resolve();
        };
        syncWaiters.add(finish);
        signal?.addEventListener('abort', finish);
      }),
    resync,
    ageMs: () => Math.max(...loops.map((loop) => loop.ageMs())),
    missed: () => loops.reduce((sum, loop) => sum + loop.missed, 0),
    failures: () => loops.reduce((sum, loop) => sum + loop.failures, 0),
  };
}

/**
 * The client, whose successful writes of known objects the watchers show before their watches deliver them (decision 0199). However far a
 * watch lags behind, the next write is then decided on the result of the last and carries its resource version, where it
 * would be a conflict otherwise, or done twice.
 */
export function writeThrough(
  client: KubeClient,
  watchers: readonly Pick<Watcher, 'resource' | 'absorb'>[],
): KubeClient {
  async function show<T extends KubeObject>(resource: Resource, written: Promise<T>): Promise<T> {
    const object = await written;
    for (const watcher of watchers)
      if (watcher.resource.plural === resource.plural && watcher.resource.apiVersion === resource.apiVersion)
        watcher.absorb(object);
    return object;
  }
  return {
    ...client,
    update: (resource, object, call) => show(resource, client.update(resource, object, call)),
    mergePatch: <T extends KubeObject>(...[resource, patch]: Parameters<KubeClient['mergePatch']>) =>
      show(resource, client.mergePatch<T>(resource, patch)),
    apply: (resource, object, options) => show(resource, client.apply(resource, object, options)),
  };
}
