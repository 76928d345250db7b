/** How much there was to do: an integral over time, from which any two readings give the exact average between them. */
import { randomBytes } from 'node:crypto';
import type { WorkCounters } from '../../api/redis-keys.ts';
import { type Clock, systemClock } from '../../kit/clock.ts';

const BOOT_BYTES = 8;

export class BusyTime {
  readonly #clock: Clock;
  /** Of this process, so that whoever reads the counters notices that they restarted. */
  readonly boot = randomBytes(BOOT_BYTES).toString('hex');
  #level = 0;
  #sumMs = 0;
  #changedAt: number;
  /** When something came or went last, by the clock that only moves forward. */
  #movedAt = 0;
  #arrivals = 0;
  /** The same by the date, worked out for who asks: it stays what it was as long as nothing happens. */
  #activeAt: number | null;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
    this.#changedAt = clock.now();
    this.#activeAt = clock.date().getTime();
  }

  /** Something to do has come: it counts until what is returned is called, once. `isWaiting`: as the same, it comes again. */
  enter({ isWaiting = false }: { isWaiting?: boolean } = {}): () => void {
    if (isWaiting) this.#change(1);
    else this.begin();
    let isIn = true;
    return () => {
      if (isIn) this.end();
      isIn = false;
    };
  }

  /** As `enter`, for who calls `end` exactly once. */
  begin(): void {
    this.#arrivals++;
    this.#change(1);
  }

  end(): void {
    this.#change(-1);
  }

  /** What is to do now. */
  get level(): number {
    return this.#level;
  }

  read(): WorkCounters {
    this.#change(0);
    return {
      boot: this.boot,
      busyMs: Math.floor(this.#sumMs),
      arrivals: this.#arrivals,
      activeAt: this.#dateActivity(),
    };
  }

  #change(by: number): void {
    const now = this.#clock.now();
    this.#sumMs += this.#level * (now - this.#changedAt);
    this.#changedAt = now;
    this.#level += by;
    if (by === 0) return;
    this.#movedAt = now;
    this.#activeAt = null;
  }

  #dateActivity(): number {
    const now = this.#clock.date().getTime();
    if (this.#level > 0) return now;
    this.#activeAt ??= Math.round(now - (this.#clock.now() - this.#movedAt));
    return this.#activeAt;
  }
}
