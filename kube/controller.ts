/** A reconcile loop: watch events enqueue keys, and keys are processed by one function (decision 0124). */
import { type Clock, systemClock } from '../kit/clock.ts';
import type { Lane } from './due-keys.ts';
import { type Log, silentLog } from './log.ts';
import type { KubeObject } from './object.ts';
import type { Watcher } from './watcher.ts';
import type { Process, WorkQueue } from './work-queue.ts';

export interface ControllerWatch<T extends KubeObject> {
  watcher: Watcher<T>;
  /** The keys to reconcile when this object changes, from its state before and after. */
  mapToKeys: (object: T) => readonly string[];
  /** Filters out changes that no reconcile depends on. */
  isRelevant?: (old: T, current: T) => boolean;
}

/** Types one watch; a list of them may then differ in their objects. */
export function watchOf<T extends KubeObject>(watch: ControllerWatch<T>): ControllerWatch<KubeObject> {
  return watch as unknown as ControllerWatch<KubeObject>;
}

/** A watch whose changes may each enqueue many keys. */
export interface FanOut {
  watcher: Pick<Watcher, 'onChange' | 'waitForSync'>;
  /** The keys to enqueue now; called once for all changes within `debounceMs`. */
  listKeys: () => Iterable<{ key: string; lane: Lane }>;
  debounceMs: number;
}

export interface ControllerOptions {
  name: string;
  queue: WorkQueue;
  watches: readonly ControllerWatch<KubeObject>[];
  fanOuts?: readonly FanOut[];
  /** Reconciles the object of this key; called again whenever it throws. */
  reconcile: Process;
  /** Resync interval: every known key is reconciled again within it, evenly spread (10 minutes). */
  resyncMs?: number;
  clock?: Clock;
  log?: Log;
}

/** Steps of a resync: few keys at a time, to avoid bursts. */
const RESYNC_STEPS = 120;

export interface Controller {
  readonly name: string;
  readonly queue: Pick<WorkQueue, 'add' | 'addAfter' | 'delete' | 'depth' | 'active' | 'failing'>;
  /** Waits until all watchers have synced, then reconciles every known key. */
  start(signal?: AbortSignal): Promise<void>;
  /** Enqueues every known key, after all changes. */
  resync(): void;
  /** Stops within about `drainMs`; the owner stops the watchers. */
  stop(drainMs?: number): Promise<void>;
}

/** Ties watchers (started and stopped by the caller, shared between controllers) to a queue and a function. */
export function createController(options: ControllerOptions): Controller {
  const {
    name,
    queue,
    watches,
    fanOuts = [],
    reconcile,
    resyncMs = 600_000,
    clock = systemClock,
    log = silentLog,
  } = options;
  let cancelResync = () => {};
  const subscriptions = watches.map(({ watcher, mapToKeys, isRelevant = () => true }) =>
    watcher.onChange((old, current) => {
      if (old && current && !isRelevant(old, current)) return;
      // Both states: an object that moves from one owner to another concerns both.
      const keys = new Set([...(old ? mapToKeys(old) : []), ...(current ? mapToKeys(current) : [])]);
      for (const key of keys) queue.add(key);
    }),
  );

  for (const fanOut of fanOuts) subscriptions.push(fanOut.watcher.onChange(() => startFanOut(fanOut)));
  /** Debounced fan-outs, with their cancel functions. */
  const waiting = new Map<FanOut, () => void>();

  function startFanOut(fanOut: FanOut): void {
    if (waiting.has(fanOut)) return;
    const { debounceMs, listKeys } = fanOut;
    const cancel = clock.after(debounceMs, () => {
      waiting.delete(fanOut);
      for (const { key, lane } of listKeys()) queue.add(key, lane);
    });
    waiting.set(fanOut, cancel);
  }

  /** Each key once, however many objects lead to it. */
  function listKeys(): string[] {
    const keys = new Set<string>();
    for (const { watcher, mapToKeys } of watches)
      for (const object of watcher.list()) for (const key of mapToKeys(object)) keys.add(key);
    return [...keys];
  }

  function resync(): void {
    for (const key of listKeys()) queue.add(key, 'slow');
  }

  /** One round of the resync: the current keys, some at every step; later ones are in the next round. */
  function startRound(): void {
    const keys = listKeys();
    const steps = Math.min(RESYNC_STEPS, Math.max(1, keys.length));
    const waitForStep = (step: number): void => {
      cancelResync = clock.after(resyncMs / steps, () => {
        const [from, to] = [step, step + 1].map((edge) => Math.floor((edge * keys.length) / steps));
        for (const key of keys.slice(from, to)) queue.add(key, 'slow');
        if (step + 1 < steps) waitForStep(step + 1);
        else startRound();
      });
    };
    waitForStep(0);
  }

  return {
    name,
    queue,
    resync,
    async start(signal) {
      await Promise.all([...watches, ...fanOuts].map(({ watcher }) => watcher.waitForSync(signal)));
      if (signal?.aborted) return;
      resync();
      log.info({ controller: name, keys: queue.depth() }, 'controller started');
      queue.start(reconcile);
      startRound();
    },
    async stop(drainMs) {
      cancelResync();
      for (const cancel of waiting.values()) cancel();
      waiting.clear();
      for (const unsubscribe of subscriptions) unsubscribe();
      await queue.stop(drainMs);
    },
  };
}
