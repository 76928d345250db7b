/** A reconcile loop: what watchers see becomes keys, keys become calls of one function. */
import type { Clock } from './clock.ts';
import { type Log, silentLog } from './log.ts';
import type { KubeObject } from './object.ts';
import type { Watcher } from './watcher.ts';
import { createWorkQueue, type Requeue, type WorkQueue, type WorkQueueOptions } from './work-queue.ts';

export interface ControllerWatch<T extends KubeObject> {
  watcher: Watcher<T>;
  /** The keys to reconcile when this object changes, told with its state before and after. */
  mapToKeys: (object: T) => readonly string[];
  /** Leaves out changes that no reconcile depends on; resyncs always pass. */
  isRelevant?: (old: T, current: T) => boolean;
}

/** Types one watch; a list of them may then differ in their objects. */
export function watchOf<T extends KubeObject>(watch: ControllerWatch<T>): ControllerWatch<KubeObject> {
  return watch as unknown as ControllerWatch<KubeObject>;
}

export interface ControllerOptions
  extends Pick<WorkQueueOptions, 'workers' | 'backoff' | 'deadlineMs' | 'onProcessed' | 'random'> {
  name: string;
  watches: readonly ControllerWatch<KubeObject>[];
  /** Brings the world to what the object of this key wants; called again whenever it throws. */
  reconcile: (key: string, signal: AbortSignal) => Promise<Requeue | undefined>;
  clock?: Clock;
  log?: Log;
}

export interface Controller {
  readonly name: string;
  readonly queue: Pick<WorkQueue, 'add' | 'addAfter' | 'forget' | 'depth' | 'active' | 'failing'>;
  /** Waits until all watchers have synced, then reconciles every key that they know. */
  start(signal?: AbortSignal): Promise<void>;
  /** Ends within about `drainMs`; the watchers are their owner's to stop. */
  stop(drainMs?: number): Promise<void>;
}

/** Ties watchers (started and stopped by the caller, shared between controllers) to a queue and a function. */
export function createController(options: ControllerOptions): Controller {
  const { name, watches, reconcile, log = silentLog, ...queueOptions } = options;
  const queue = createWorkQueue({ ...queueOptions, name, log, process: reconcile });
  const subscriptions = watches.map(({ watcher, mapToKeys, isRelevant = () => true }) =>
    watcher.onChange((old, current) => {
      if (old && current && old !== current && !isRelevant(old, current)) return;
      // Both states: an object that moves from one owner to another concerns both.
      const keys = new Set([...(old ? mapToKeys(old) : []), ...(current ? mapToKeys(current) : [])]);
      for (const key of keys) queue.add(key);
    }),
  );

  return {
    name,
    queue,
    async start(signal) {
      await Promise.all(watches.map(({ watcher }) => watcher.waitForSync(signal)));
      if (signal?.aborted) return;
      for (const { watcher, mapToKeys } of watches)
        for (const object of watcher.list()) for (const key of mapToKeys(object)) queue.add(key);
      log.info({ controller: name, keys: queue.depth() }, 'controller started');
      queue.start();
    },
    async stop(drainMs) {
      for (const unsubscribe of subscriptions) unsubscribe();
      await queue.stop(drainMs);
    },
  };
}
