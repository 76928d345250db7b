/** How many requests of each API key a front has refused or holds in the key's minute: no replica has counted those. */
import { LRUCache } from 'lru-cache';
import { type Clock, systemClock } from '../../../kit/clock.ts';

interface Minute {
  /** By the clock. */
  endsAt: number;
  count: number;
}

/** A request that counts; or how many seconds are left of the minute, in which there is no room for it. */
export type Counting = { uncount(): void } | { retryAfter: number };

const MINUTE_MS = 60_000;
/** Of valid keys. */
const MAX_REMEMBERED = 20_000;

export class CallerMinutes {
  readonly #minutes = new LRUCache<string, Minute>({ max: MAX_REMEMBERED });
  readonly #clock: Clock;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /**
   * Counts one request, unless as many as `remaining`, what replicas left of the key's RPM, count already. `uncount` it once
   * a replica counts it.
   */
  count(caller: string, remaining: number): Counting {
    const minute = this.#find(caller);
    if (minute.count >= remaining)
      return { retryAfter: Math.max(1, Math.ceil((minute.endsAt - this.#clock.now()) / 1_000)) };
    minute.count++;
    let isCounted = true;
    return {
      uncount: () => {
        if (isCounted) minute.count--;
        isCounted = false;
      },
    };
  }

  #find(caller: string): Minute {
    const now = this.#clock.now();
    const known = this.#minutes.get(caller);
    if (known && now < known.endsAt) return known;
    const minute = { endsAt: now + MINUTE_MS, count: 0 };
    this.#minutes.set(caller, minute);
    return minute;
  }
}
