/** A work queue of keys: deduplicated, never two concurrent runs of one key, with backoff per key. */

import { type Clock, systemClock } from '../kit/clock.ts';
import { type Backoff, backoffDelay } from '../kit/retry.ts';
import { isConflict } from './api-error.ts';
import { type DueKey, DueKeys, type Lane } from './due-keys.ts';
import { type Log, silentLog } from './log.ts';

export interface Requeue {
  /** Process the key again after this time, although all went well. */
  requeueAfterMs?: number;
}

/** A requeue after the shortest of these times in milliseconds. */
export function earliest(...times: (number | undefined)[]): Requeue {
  const due = times.filter((time) => time !== undefined);
  return due.length === 0 ? {} : { requeueAfterMs: Math.min(...due) };
}

export interface ReconcileSample {
  queue: string;
  outcome: 'success' | 'requeued' | 'conflict' | 'error';
  lane: Lane;
  seconds: number;
  /** How long the key was queued before its run. */
  waitSeconds: number;
}

export interface WorkQueueOptions {
  name: string;
  /** Keys worked on at a time (2). */
  workers?: number;
  /** Backoff of a failing key (250 ms doubling to 2 minutes). */
  backoff?: Backoff;
  /** Deadline of one run in milliseconds (60,000). */
  deadlineMs?: number;
  clock?: Clock;
  random?: () => number;
  log?: Log;
  onProcessed?: (sample: ReconcileSample) => void;
}

/** The signal aborts at the deadline and when the queue stops; throw to be called again. */
export type Process = (key: string, signal: AbortSignal) => Promise<Requeue | undefined>;

interface Timer {
  at: number;
  lane: Lane;
  cancel: () => void;
}

const BACKOFF: Backoff = { baseMs: 250, maxMs: 120_000 };
/** A conflict only means that the cache was stale: retried soon, without a warning. */
const CONFLICT_BACKOFF: Backoff = { baseMs: 50, maxMs: 5_000 };

export type WorkQueue = ReturnType<typeof createWorkQueue>;

/** Creates a queue; it accepts keys at once and processes them after `start`. */
export function createWorkQueue(options: WorkQueueOptions) {
  const { name, workers = 2, backoff = BACKOFF, deadlineMs = 60_000 } = options;
  const { clock = systemClock, random = Math.random, log = silentLog, onProcessed } = options;
  const due = new DueKeys();
  const timers = new Map<string, Timer>();
  const failures = new Map<string, number>();
  const running = new Map<string, Promise<void>>();
  const stopping = new AbortController();
  let freeWorkers = workers;
  let process: Process | null = null;

  /** Changes have priority; `slow` is for resyncs. */
  function add(key: string, lane: Lane = 'fast'): void {
    // Keys added before the start come from the first listing, whoever adds them.
    if (stopping.signal.aborted || !due.add(key, process ? lane : 'slow', clock.now())) return;
    timers.get(key)?.cancel();
    timers.delete(key);
    startRuns();
  }

  /** The earliest of several times for one key counts. */
  function addAfter(key: string, ms: number, lane: Lane = 'fast'): void {
    const at = clock.now() + ms;
    const earlier = timers.get(key);
    if (stopping.signal.aborted || due.has(key) || (earlier && earlier.at <= at)) return;
    earlier?.cancel();
    timers.set(key, { at, lane, cancel: clock.after(Math.max(0, ms), () => add(key, lane)) });
  }

  function startRuns(): void {
    while (process && freeWorkers > 0) {
      const next = due.take(clock.now(), (key) => running.has(key));
      if (!next) return;
      running.set(next.key, run(next, process));
    }
  }

  async function run({ key, lane, since }: DueKey, process: Process): Promise<void> {
    const begun = clock.now();
    const controller = new AbortController();
    const abort = () => controller.abort(stopping.signal.reason);
    stopping.signal.addEventListener('abort', abort);
    freeWorkers--;
    let holdsWorker = true;
    const freeWorker = () => {
      if (holdsWorker) freeWorkers++;
      holdsWorker = false;
    };
    // A run that ignores its deadline keeps its key, so that the key stays serial, but not its worker.
    const cancelDeadline = clock.after(deadlineMs, () => {
      log.warn({ queue: name, key, deadlineMs }, 'reconcile exceeded its deadline');
      controller.abort(new Error(`deadline of ${deadlineMs} ms exceeded`));
      freeWorker();
      startRuns();
    });
    let outcome: ReconcileSample['outcome'];
    try {
      const result = await process(key, controller.signal);
      outcome = succeed(key, result ?? {});
    } catch (error) {
      outcome = fail(key, lane, error);
    }
    cancelDeadline();
    stopping.signal.removeEventListener('abort', abort);
    running.delete(key);
    freeWorker();
    const seconds = (clock.now() - begun) / 1000;
    onProcessed?.({ queue: name, outcome, lane, seconds, waitSeconds: (begun - since) / 1000 });
    startRuns();
  }

  function succeed(key: string, { requeueAfterMs }: Requeue): ReconcileSample['outcome'] {
    failures.delete(key);
    if (requeueAfterMs === undefined) return 'success';
    addAfter(key, requeueAfterMs);
    return 'requeued';
  }

  function fail(key: string, lane: Lane, error: unknown): ReconcileSample['outcome'] {
    const attempt = (failures.get(key) ?? 0) + 1;
    failures.set(key, attempt);
    const conflict = isConflict(error);
    const retryMs = backoffDelay(conflict ? CONFLICT_BACKOFF : backoff, attempt, random);
    const fields = { queue: name, key, attempt, retryMs: Math.round(retryMs), err: error };
    if (conflict) log.debug(fields, 'conflict, retrying');
    else if (!stopping.signal.aborted) log.warn(fields, 'reconcile failed, retrying');
    addAfter(key, retryMs, lane);
    return conflict ? 'conflict' : 'error';
  }

  return {
    add,
    addAfter,
    /** Ends a key's back-off, and its timer: its object is gone. */
    delete(key: string): void {
      failures.delete(key);
      timers.get(key)?.cancel();
      timers.delete(key);
    },
    start(processKey: Process): void {
      process = processKey;
      startRuns();
    },
    /** Accepts no more keys, lets runs finish within `drainMs`, then aborts them; resolves when nothing runs. */
    async stop(drainMs = 10_000): Promise<void> {
      process = null;
      due.clear();
      for (const { cancel } of timers.values()) cancel();
      timers.clear();
      const cancelDrain = clock.after(drainMs, () => stopping.abort(new Error('stopping')));
      await Promise.all(running.values());
      cancelDrain();
      stopping.abort(new Error('stopped'));
      for (const { cancel } of timers.values()) cancel();
      timers.clear();
    },
    /** Keys that are due and not yet worked on. */
    depth: () => due.size,
    /** Keys being worked on. */
    active: () => running.size,
    /** Keys whose last run failed. */
    failing: () => failures.size,
  };
}
