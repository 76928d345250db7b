/** The queue for slots of an engine: by priority, fair among callers, bounded (decision 0034). */
import type { BusyTime } from './busy-time.ts';
import type { Acquisition, Caller, Capacity, EngineTarget } from './capacity.ts';
import { FairQueue } from './fair-queue.ts';

export interface SlotQueueOptions {
  /** Asked first, and again for the next in line while all wait: a peer may have a slot by then. */
  capacity: Capacity;
  /** A place of this replica, if one is free. */
  takeLocal: () => EngineTarget | null;
  /** Called each time; 0 = no waiting. */
  waitMs: () => number;
  /** Whether queued jobs compete for the slots: every other slot is left to them briefly. */
  isShared: () => boolean;
  /** Counts those that wait. */
  busy?: BusyTime;
  /** Shared with other endpoints of the engine; its own if absent. */
  line?: SlotLine;
  /** Whether its requests may start at the engine; always if absent. */
  isOpen?: () => boolean;
}

interface Waiter {
  queue: SlotQueue;
  give(acquisition: Acquisition): void;
}

/** Those that wait for slots of one engine, at all of its endpoints: whose turn it is does not depend on the endpoint. */
export class SlotLine extends FairQueue<Waiter> {}

/** Waiting requests cost memory, and those behind so many would time out. */
export const MAX_WAITING = 100;
const RETRY_INTERVAL_MS = 250;
const YIELD_MS = 50;
/** For unidentified callers. */
const NOBODY: Caller = { id: '', priority: 0 };
const SATURATED: Acquisition = { refusal: 'replica_saturated' };

export class SlotQueue implements Capacity {
  readonly #options: SlotQueueOptions;
  readonly #line: SlotLine;
  /** At this endpoint. */
  #waiting = 0;
  #retry: NodeJS.Timeout | null = null;
  #isTurnOfQueue = false;
  #isServing = false;
  #isAsking = false;

  constructor(options: SlotQueueOptions) {
    this.#options = options;
    this.#line = options.line ?? new SlotLine();
  }

  get waiting(): number {
    return this.#waiting;
  }

  get isOpen(): boolean {
    return this.#options.isOpen?.() ?? true;
  }

  acquire(signal: AbortSignal, caller: Caller = NOBODY): Acquisition | Promise<Acquisition> {
    const acquisition = this.#acquire(signal, caller);
    if (!(acquisition instanceof Promise)) return acquisition;
    const leave = this.#options.busy?.enter({ isWaiting: true });
    return acquisition.finally(leave);
  }

  #acquire(signal: AbortSignal, caller: Caller): Acquisition | Promise<Acquisition> {
    // No overtaking.
    if (this.waiting > 0) return this.#wait(signal, caller);
    const acquisition = this.#options.capacity.acquire(signal, caller);
    return acquisition instanceof Promise ? this.#waitIfFull(acquisition, signal, caller) : acquisition;
  }

  /** Skips the line: the client of a broken stream has already had its turn. */
  acquireElsewhere(lost: ReadonlySet<string>, signal: AbortSignal): Acquisition | Promise<Acquisition> {
    return this.#options.capacity.acquireElsewhere(lost, signal);
  }

  /** A slot of this replica has become free, for whoever is next in the line. */
  serve(): void {
    if (this.#line.size === 0 || this.#isServing) return;
    if (this.#isTurnOfQueue && this.#options.isShared()) {
      this.#isTurnOfQueue = false;
      setTimeout(() => this.serve(), YIELD_MS);
      return;
    }
    // Taking a slot may report a crossing, which calls this again.
    this.#isServing = true;
    for (let target = this.#takeLocal(); target; target = this.#takeLocal()) {
      this.#line.next(isOpen)!.give({ target });
      this.#isTurnOfQueue = true;
    }
    this.#isServing = false;
  }

  #takeLocal(): EngineTarget | null {
    const entry = this.#line.find(isOpen);
    return entry ? entry.queue.#options.takeLocal() : null;
  }

  async #waitIfFull(
    acquisition: Promise<Acquisition>,
    signal: AbortSignal,
    caller: Caller,
  ): Promise<Acquisition> {
    const first = await acquisition;
    const isFull = 'refusal' in first && first.refusal === 'replica_saturated';
    return isFull && !signal.aborted ? this.#wait(signal, caller) : first;
  }

  #wait(signal: AbortSignal, caller: Caller): Acquisition | Promise<Acquisition> {
    const waitMs = this.#options.waitMs();
    if (waitMs <= 0 || signal.aborted || !this.#evictFor(caller)) return SATURATED;
    return new Promise((resolve) => {
      const abandon = () => waiter.give(SATURATED);
      const timer = setTimeout(abandon, waitMs);
      const waiter: Waiter = {
        queue: this,
        give: (acquisition) => {
          clearTimeout(timer);
          signal.removeEventListener('abort', abandon);
          this.#remove(caller, waiter);
          resolve(acquisition);
        },
      };
      signal.addEventListener('abort', abandon, { once: true });
      this.#add(caller, waiter);
    });
  }

  /** Whether one more may wait; in a full line another may be evicted for it. */
  #evictFor(caller: Caller): boolean {
    if (this.#line.size < MAX_WAITING) return true;
    const least = this.#line.findLeast(caller);
    least?.give(SATURATED);
    return least !== null;
  }

  #add(caller: Caller, waiter: Waiter): void {
    this.#line.add(caller, waiter);
    this.#waiting++;
    this.#retry ??= setInterval(() => void this.#ask(), RETRY_INTERVAL_MS);
  }

  #remove(caller: Caller, waiter: Waiter): void {
    if (!this.#line.remove(caller, waiter) || --this.#waiting > 0 || !this.#retry) return;
    clearInterval(this.#retry);
    this.#retry = null;
  }

  /** Until all are served or no replica has a slot; a peer that has one may have many. */
  async #ask(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    while (this.waiting > 0) {
      const acquisition = await this.#options.capacity.acquire(AbortSignal.timeout(RETRY_INTERVAL_MS));
      if ('target' in acquisition) {
        const waiter = this.#nextHere();
        if (waiter) waiter.give(acquisition);
        else acquisition.target.release();
        continue;
      }
      // There is nothing to wait for.
      if (acquisition.refusal === 'no_pod_available')
        for (let waiter = this.#nextHere(); waiter; waiter = this.#nextHere()) waiter.give(acquisition);
      break;
    }
    this.#isAsking = false;
  }

  #nextHere(): Waiter | null {
    return this.#line.next(({ queue }) => queue === this);
  }
}

const isOpen = ({ queue }: Waiter): boolean => queue.isOpen;
