/** Wakes the engine of this replica for callers that request a slot. */
import type { BusyTime } from './busy-time.ts';
import type { Acquisition, Caller, Capacity } from './capacity.ts';
import type { EngineSleep } from './engine-sleep.ts';

export interface WakingCapacityOptions {
  capacity: Capacity;
  sleep: Pick<EngineSleep, 'isAwake' | 'wake'>;
  /** Only such an engine can be woken. */
  isEngineReady: () => boolean;
  /** Counts those that wait. */
  busy: BusyTime;
}

export class WakingCapacity implements Capacity {
  readonly #options: WakingCapacityOptions;

  constructor(options: WakingCapacityOptions) {
    this.#options = options;
  }

  acquire(signal: AbortSignal, caller?: Caller): Acquisition | Promise<Acquisition> {
    const { capacity, sleep, isEngineReady } = this.#options;
    if (sleep.isAwake || !isEngineReady()) return capacity.acquire(signal, caller);
    return this.#wakeAndAcquire(signal, caller);
  }

  acquireElsewhere(lost: ReadonlySet<string>, signal: AbortSignal): Acquisition | Promise<Acquisition> {
    return this.#options.capacity.acquireElsewhere(lost, signal);
  }

  /** Later callers wait as well, to keep the order. */
  async #wakeAndAcquire(signal: AbortSignal, caller: Caller | undefined): Promise<Acquisition> {
    const { capacity, sleep, busy } = this.#options;
    const leave = busy.enter({ isWaiting: true });
    try {
      await Promise.race([sleep.wake(), untilAborted(signal)]);
    } catch {
      // A peer may have a slot.
    } finally {
      leave();
    }
    return capacity.acquire(signal, caller);
  }
}

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
