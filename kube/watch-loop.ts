/** A perpetual list and watch of one API path. */

import { type Clock, sleep } from '../kit/clock.ts';
import { backoffDelay } from '../kit/retry.ts';
import { isForbidden, isGone, type KubeApiError } from './api-error.ts';
import type { Selection } from './call.ts';
import type { KubeClient } from './client.ts';
import { SilenceError } from './connection.ts';
import { ListComparison, type Listing, type WatchTarget } from './list-comparison.ts';
import { listInPages } from './list-pages.ts';
import type { Log } from './log.ts';
import { isOlderState, isStub, type KubeObject, objectKey } from './object.ts';
import type { Resource } from './resource.ts';

export interface WatchTiming {
  /** The API server ends each watch after about this long (290 s). */
  watchMs: number;
  /** Silence, without even a bookmark, after which a watch counts as dead (150 s; bookmarks come every minute). */
  staleMs: number;
  /** Back-off after failures (500 ms doubling to 10 s). */
  backoff: { baseMs: number; maxMs: number };
  /** How long a watch may lag behind a list before what it lacks counts as missed (5 s). */
  settleMs: number;
}

/** Retry interval of a namespace that may not be read; each attempt is cheap for the API server. */
const SET_ASIDE_MS = 60_000;

export interface WatchLoopOptions<T extends KubeObject> {
  client: Pick<KubeClient, 'list' | 'watch'>;
  resource: Resource;
  selection: Selection;
  pageSize: number;
  timing: WatchTiming;
  target: WatchTarget<T>;
  clock: Clock;
  random: () => number;
  log: Log;
}

export class WatchLoop<T extends KubeObject> {
  readonly #options: WatchLoopOptions<T>;
  readonly #stop = new AbortController();
  #current: AbortController | undefined;
  #resourceVersion: string | undefined;
  #running: Promise<void> | undefined;
  #resyncing: Promise<void> | undefined;
  /** State of the current resync; none once a new list has replaced what it compares. */
  #comparison: ListComparison<T> | undefined;
  #seenAt: number;

  hasSynced = false;
  /** Not readable for now, as when the namespace and the rights in it were deleted: the others continue. */
  isSetAside = false;
  /** Objects that a resync found different from the watch. */
  missed = 0;
  /** Watches and lists that failed. */
  failures = 0;

  constructor(options: WatchLoopOptions<T>) {
    this.#options = options;
    this.#seenAt = options.clock.now();
  }

  start(): void {
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#current?.abort();
    await Promise.all([this.#running, this.#resyncing]);
  }

  /** Milliseconds since anything was received here. */
  ageMs(): number {
    return this.#options.clock.now() - this.#seenAt;
  }

  /** Lists beside the open watch, repairs what it missed, and then reopens it if needed; never throws. */
  resync(): Promise<void> {
    this.#resyncing ??= this.#compare()
      .catch((error) => this.#warn('resync failed', error))
      .finally(() => {
        this.#resyncing = undefined;
        this.#comparison = undefined;
      });
    return this.#resyncing;
  }

  get #stopped(): boolean {
    return this.#stop.signal.aborted;
  }

  async #run(): Promise<void> {
    const { clock, random, timing } = this.#options;
    let attempt = 0;
    while (!this.#stopped) {
      const mustList = this.#resourceVersion === undefined;
      try {
        if (mustList) await this.#relist();
        attempt = (await this.#watch()) ? 0 : attempt + 1;
      } catch (error) {
        if (this.#stopped) return;
        if (this.#options.selection.namespace !== undefined && isForbidden(error)) {
          this.#setAside(error);
          const backoff = { ...timing.backoff, maxMs: SET_ASIDE_MS };
          await sleep(clock, backoffDelay(backoff, ++attempt, random), this.#stop.signal);
          continue;
        }
        const gone = isGone(error);
        if (gone) this.#resourceVersion = undefined;
        // The API server requires a new list: at once, unless a list has just failed to help.
        attempt = gone && !mustList ? 0 : attempt + 1;
        this.failures++;
        this.#warn('watch failed, reopening', error);
      }
      if (attempt > 0) await sleep(clock, backoffDelay(timing.backoff, attempt, random), this.#stop.signal);
    }
  }

  #setAside(error: unknown): void {
    this.failures++;
    this.#seenAt = this.#options.clock.now();
    if (this.isSetAside) return;
    this.#warn('namespace is not readable, continuing without it', error);
    this.isSetAside = true;
    this.#options.target.synced();
  }

  /** Something was received from the API server. */
  #noteContact(): void {
    const { clock, log, resource, selection } = this.#options;
    this.#seenAt = clock.now();
    if (!this.isSetAside) return;
    this.isSetAside = false;
    log.info({ resource: resource.plural, namespace: selection.namespace }, 'namespace is readable again');
  }

  /** Reads one watch to its end; false if it ended at once, so that reopening must wait. */
  async #watch(): Promise<boolean> {
    const { client, resource, selection, timing, clock, random } = this.#options;
    const current = new AbortController();
    this.#current = current;
    const opened = clock.now();
    let events = 0;
    let stale = false;
    const limitSilence = () =>
      clock.after(timing.staleMs, () => {
        stale = true;
        current.abort(new SilenceError('watch is silent'));
      });
    let cancelLimit = limitSilence();
    try {
      const stream = client.watch<T>(resource, {
        ...selection,
        resourceVersion: this.#resourceVersion!,
        timeoutSeconds: Math.ceil((timing.watchMs * (1 + random() * 0.2)) / 1000),
        signal: current.signal,
      });
      for await (const event of stream) {
        if (current.signal.aborted) break;
        events++;
        cancelLimit();
        cancelLimit = limitSilence();
        this.#take(event);
      }
    } catch (error) {
      if (stale) throw new Error(`received nothing for ${timing.staleMs} ms`);
      if (!current.signal.aborted) throw error;
    } finally {
      cancelLimit();
    }
    // Ended by a resync: open again at once.
    return current.signal.aborted || events > 0 || clock.now() - opened >= 1_000;
  }

  #take({ type, object }: { type: string; object: T }): void {
    const { target } = this.#options;
    this.#noteContact();
    if (type === 'DELETED') {
      target.remove(objectKey(object));
      this.#comparison?.noteDeletion(objectKey(object));
    } else if (type !== 'BOOKMARK' && !this.#isShown(object)) {
      const kept = target.trim(object);
      if (kept) target.put(kept);
    }
    this.#resourceVersion = object.metadata.resourceVersion ?? this.#resourceVersion;
  }

  /** An event of our own write, or an earlier one, whose result is already stored. */
  #isShown(object: T): boolean {
    const known = this.#options.target.get(objectKey(object));
    if (!known || isStub(known)) return known !== undefined && isOlderState(object, known);
    const isSame =
      known.metadata.uid === object.metadata.uid &&
      known.metadata.resourceVersion === object.metadata.resourceVersion;
    return isSame || isOlderState(object, known);
  }

  async #relist(): Promise<void> {
    const { target } = this.#options;
    const before = new Set(target.current());
    this.#replaceAll(await this.#list((object) => target.trim(object)), before);
  }

  /** `before`: what was known when the list began. A write of ours after that is kept; a restored backup is followed. */
  #replaceAll({ objects, resourceVersion }: Listing<T>, before: ReadonlySet<T>): void {
    const { target } = this.#options;
    this.#comparison = undefined;
    for (const old of target.current()) if (!objects.has(objectKey(old))) target.remove(objectKey(old));
    for (const [key, object] of objects) {
      const known = target.get(key);
      if (known && !before.has(known) && isOlderState(object, known)) continue;
      const isSame = known?.metadata.resourceVersion === object.metadata.resourceVersion;
      if (!known || !isSame || (isStub(known) && !isStub(object))) target.put(object);
    }
    this.#resourceVersion = resourceVersion;
    if (this.hasSynced) return;
    this.hasSynced = true;
    target.synced();
  }

  async #compare(): Promise<void> {
    if (!this.hasSynced || this.isSetAside) return;
    const { target, clock, timing, log, resource } = this.#options;
    const comparison = new ListComparison(target);
    this.#comparison = comparison;
    const listing = await this.#list((object) => comparison.keep(object));
    if (this.#comparison !== comparison) return;
    comparison.complete(listing);
    if (comparison.countMissed(listing) > 0) await sleep(clock, timing.settleMs, this.#stop.signal);
    if (this.#comparison !== comparison) return;
    const missed = comparison.countMissed(listing);
    if (missed === 0 || this.#stopped) return;
    this.missed += missed;
    log.warn({ resource: resource.plural, missed }, 'watch missed changes, reopening');
    comparison.repair(listing);
    this.#resourceVersion = listing.resourceVersion;
    this.#current?.abort(new SilenceError('watch missed changes'));
  }

  #list<R>(keep: (object: T) => R | undefined): Promise<Listing<R>> {
    const { client, resource, selection, pageSize } = this.#options;
    const signal = this.#stop.signal;
    return listInPages(client, {
      resource,
      selection,
      pageSize,
      signal,
      keep,
      onPage: () => this.#noteContact(),
    });
  }

  #warn(message: string, error: unknown): void {
    const { log, resource, selection } = this.#options;
    if (this.#stopped) return;
    const { message: reason } = error as KubeApiError;
    log.warn({ resource: resource.plural, namespace: selection.namespace, reason }, message);
  }
}
