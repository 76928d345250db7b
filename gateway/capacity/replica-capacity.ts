/** The slots of this replica's engine, and where its requests run: here while there is a slot, else at a peer. */

import { type Clock, systemClock } from '../../kit/clock.ts';
import { BusyTime } from './busy-time.ts';
import type { Acquisition, Caller, Capacity, EngineTarget } from './capacity.ts';
import type { Peers } from './peers.ts';
import type { PrefixBalance } from './prefix-balance.ts';

/** So long after a request took a line's slot, one stays free: the next request needs to end no line. */
const REST_MS = 1_000;

interface Loan {
  revoke: () => void;
}

/** The slots of this replica's engine. */
export class Slots {
  /** Requests and jobs that have a slot, and those that wait for one. */
  readonly busy: BusyTime;
  /** Requests, jobs and checks. */
  #taken = 0;
  /** To lines of batches, the oldest first. */
  readonly #loans: Loan[] = [];
  /** Ends the rest; null: none. */
  #endRest: (() => void) | null = null;
  readonly #clock: Clock;
  readonly #listeners = new Set<() => void>();
  readonly #lenders = new Set<() => void>();
  readonly #readLimit: () => number | null;

  /** `readLimit` is called each time, so a changed limit applies at once; null = unlimited. */
  constructor(readLimit: () => number | null, busy = new BusyTime(), clock: Clock = systemClock) {
    this.#readLimit = readLimit;
    this.#clock = clock;
    this.busy = busy;
  }

  /** Counts everything in the engine, lines of batches included. */
  get inflight(): number {
    return this.#taken + this.#loans.length;
  }

  /** Those that are not there for a request: a line's is. */
  get taken(): number {
    return this.#taken;
  }

  get limit(): number | null {
    return this.#readLimit();
  }

  get isFull(): boolean {
    const limit = this.#readLimit();
    return limit !== null && this.#taken >= limit;
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

  /**
   * A slot for a line of a batch; null: none is idle. `most`: how many may be in use where slots are unlimited. `revoke` is called when
   * a request takes the slot: the line ends at once, and need not release it.
   */
  lend(most: number, revoke: () => void): (() => void) | null {
    const idle = (this.#readLimit() ?? most) - this.inflight;
    if (idle <= (this.#endRest ? 1 : 0)) return null;
    const loan = { revoke };
    this.#loans.push(loan);
    return () => {
      const at = this.#loans.indexOf(loan);
      if (at < 0) return;
      this.#loans.splice(at, 1);
      this.#notifyLenders();
    };
  }

  /** The youngest, which has done least. */
  #revoke(): void {
    const loan = this.#loans.pop();
    if (!loan) return;
    this.#endRest?.();
    this.#endRest = this.#clock.after(REST_MS, () => {
      this.#endRest = null;
      this.#notifyLenders();
    });
    loan.revoke();
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
    if (limit !== null && this.#taken >= limit) return false;
    this.#taken++;
    if (limit !== null && this.inflight > limit) this.#revoke();
    if (limit !== null && this.#taken >= limit) this.#notifyCrossing();
    return true;
  }

  #vacate(): void {
    const limit = this.#readLimit();
    this.#taken--;
    // It was full with this one, and no longer is.
    if (limit !== null && this.#taken === limit - 1) this.#notifyCrossing();
    this.#notifyLenders();
  }

  #notifyLenders(): void {
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
