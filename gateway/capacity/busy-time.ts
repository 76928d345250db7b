/** The load as an integral over time: two readings give the exact average between them (decision 0229). */
import { randomBytes } from 'node:crypto';
import type { WorkCounters } from '../../api/redis-keys.ts';
import { type Clock, systemClock } from '../../kit/clock.ts';

const BOOT_BYTES = 8;

export class BusyTime {
  readonly #clock: Clock;
  /** Identifies this process, so that readers of the counters notice a restart. */
  readonly boot = randomBytes(BOOT_BYTES).toString('hex');
  #level = 0;
  #stays = 0;
  #sumMs = 0;
  #changedAt: number;
  /** Time of the last change, by the monotonic clock. */
  #movedAt = 0;
  #arrivals = 0;
  /** The same as a date, computed for readers: it stays the same as long as nothing happens. */
  #activeAt: number | null;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
    this.#changedAt = clock.now();
    this.#activeAt = clock.date().getTime();
  }

  /** Adds a unit of load until the returned function is called, once. `isWaiting`: it will be added again, as the same unit. */
  enter({ isWaiting = false }: { isWaiting?: boolean } = {}): () => void {
    if (isWaiting) this.#change(1);
    else this.begin();
    let isIn = true;
    return () => {
      if (isIn) this.end();
      isIn = false;
    };
  }

  /** As `enter`, for callers that call `end` exactly once. */
  begin(): void {
    this.#arrivals++;
    this.#change(1);
  }

  end(): void {
    this.#change(-1);
  }

  /** Work elsewhere, which is no load: until the returned function is called, once, this replica is not idle. */
  stay(): () => void {
    this.#stays++;
    let isHere = true;
    return () => {
      if (!isHere) return;
      isHere = false;
      this.#stays--;
      this.#noteActivity(this.#clock.now());
    };
  }

  /** The current load. */
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
    if (by !== 0) this.#noteActivity(now);
  }

  #noteActivity(now: number): void {
    this.#movedAt = now;
    this.#activeAt = null;
  }

  #dateActivity(): number {
    const now = this.#clock.date().getTime();
    if (this.#level > 0 || this.#stays > 0) return now;
    this.#activeAt ??= Math.round(now - (this.#clock.now() - this.#movedAt));
    return this.#activeAt;
  }
}
