/** The slots of this replica's engine, and where its requests run: here while there is a slot, else at a peer. */

import { BusyTime } from './busy-time.ts';
import type { Acquisition, Caller, Capacity, EngineTarget } from './capacity.ts';
import type { Peers } from './peers.ts';
import type { PrefixBalance } from './prefix-balance.ts';

/** One in 20 slots. */
const FREE_SHARE = 0.05;

/** The slots of this replica's engine. */
export class Slots {
  /** Requests and jobs that have a slot, and those that wait for one. */
  readonly busy: BusyTime;
  #inflight = 0;
  #lent = 0;
  readonly #listeners = new Set<() => void>();
  readonly #lenders = new Set<() => void>();
  readonly #readLimit: () => number | null;

  /** `readLimit` is called each time, so a changed limit applies at once; null = unlimited. */
  constructor(readLimit: () => number | null, busy = new BusyTime()) {
    this.#readLimit = readLimit;
    this.busy = busy;
  }

  get inflight(): number {
    return this.#inflight;
  }

  get limit(): number | null {
    return this.#readLimit();
  }

  get isFull(): boolean {
    const limit = this.#readLimit();
    return limit !== null && this.#inflight >= limit;
  }

  /** Takes a slot, or returns null if all are taken. The returned function releases it, once. */
  take(): (() => void) | null {
    if (!this.#occupy()) return null;
    this.busy.begin();
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.busy.end();
      this.#vacate();
    };
  }

  /** How many are lent to lines of batches. */
  get lent(): number {
    return this.#lent;
  }

  /**
   * As `hold`, for a line of a batch: a share of the slots stays free, so that requests seldom wait for a line's end. `most`: how
   * many may be in use where slots are unlimited.
   */
  lend(most: number): (() => void) | null {
    const limit = this.#readLimit();
    const free = limit === null ? most : limit - Math.floor(limit * FREE_SHARE);
    const release = this.#inflight < free ? this.hold() : null;
    if (!release) return null;
    this.#lent++;
    let isLent = true;
    return () => {
      if (!isLent) return;
      isLent = false;
      this.#lent--;
      release();
    };
  }

  /** From now until the slot is released, its holder counts as load. */
  countBusy(release: () => void): () => void {
    const leave = this.busy.enter();
    return () => {
      leave();
      release();
    };
  }

  /** As `take`, for a check or a reservation, which are not load yet. */
  hold(): (() => void) | null {
    if (!this.#occupy()) return null;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#vacate();
    };
  }

  #occupy(): boolean {
    const limit = this.#readLimit();
    if (limit !== null && this.#inflight >= limit) return false;
    this.#inflight++;
    if (limit !== null && this.#inflight >= limit) this.#notifyCrossing();
    return true;
  }

  #vacate(): void {
    const limit = this.#readLimit();
    this.#inflight--;
    // It was full with this one, and no longer is.
    if (limit !== null && this.#inflight === limit - 1) this.#notifyCrossing();
    for (const listener of this.#lenders) listener();
  }

  /** Called whenever a slot becomes free, after those that wait for one. */
  onFree(listener: () => void): void {
    this.#lenders.add(listener);
  }

  /** Called whenever the last slot is taken and when one becomes free again; returns the function that unsubscribes. */
  onCrossing(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #notifyCrossing(): void {
    for (const listener of this.#listeners) listener();
  }
}

const NO_HEADERS: Record<string, string> = {};

export interface ReplicaCapacityOptions {
  slots: Slots;
  engineURL: string;
  isEngineReady: () => boolean;
  /** Whether it should become idle: it is cordoned, or drains. */
  isLeaving?: () => boolean;
  peers: Pick<Peers, 'acquire'>;
  /** Absent: no routing by prefix. */
  balance?: Pick<PrefixBalance, 'acquire'>;
}

/** Where the prefix routes; else here while there is a slot, else at a peer; the other way round while the replica is leaving. */
export class ReplicaCapacity implements Capacity {
  readonly #options: ReplicaCapacityOptions;

  constructor(options: ReplicaCapacityOptions) {
    this.#options = options;
  }

  acquire(signal: AbortSignal, caller?: Caller): Acquisition | Promise<Acquisition> {
    const prefix = caller?.prefix ?? null;
    const led = prefix === null ? null : this.#options.balance?.acquire(prefix, signal);
    if (led) return led.then((target) => (target ? { target } : this.#acquire(signal)));
    return this.#acquire(signal);
  }

  #acquire(signal: AbortSignal): Acquisition | Promise<Acquisition> {
    const target = this.#options.isLeaving?.() ? null : this.takeLocal();
    return target ? { target } : this.#acquireFromPeers(signal);
  }

  /** The failure may not have been detected yet. */
  acquireElsewhere(lost: ReadonlySet<string>, signal: AbortSignal): Acquisition | Promise<Acquisition> {
    const { engineURL, isLeaving } = this.#options;
    const target = lost.has(engineURL) || isLeaving?.() ? null : this.takeLocal();
    return target ? { target } : this.#acquireFromPeers(signal, lost);
  }

  /** A slot of this replica, if one is free and its engine is ready. */
  takeLocal(): EngineTarget | null {
    const { slots, isEngineReady, engineURL: origin } = this.#options;
    const release = isEngineReady() ? slots.take() : null;
    return release && { origin, pathPrefix: '', headers: NO_HEADERS, local: true, release };
  }

  async #acquireFromPeers(signal: AbortSignal, lost?: ReadonlySet<string>): Promise<Acquisition> {
    const { isEngineReady, peers, engineURL } = this.#options;
    const answer = await peers.acquire(signal, lost);
    if ('target' in answer) return answer;
    // A slot may have become free here while the peers were asked; the last resort is a replica that is leaving.
    const target = lost?.has(engineURL) ? null : this.takeLocal();
    if (target) return { target };
    return {
      refusal: isEngineReady() || answer.refusal === 'full' ? 'replica_saturated' : 'no_pod_available',
    };
  }
}
