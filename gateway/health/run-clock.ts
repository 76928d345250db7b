/** A clock that stands still while this process does: what a starved gateway did not see, others did not miss. */

const TICK_INTERVAL_MS = 250;
/** Timers are this late on a healthy machine too. */
const TOLERANCE_MS = 250;

export class RunClock {
  readonly #timer: NodeJS.Timeout;
  readonly #read: () => number;
  #readAt: number;
  #stalledMs = 0;

  constructor(read: () => number = () => performance.now()) {
    this.#read = read;
    this.#readAt = read();
    this.#timer = setInterval(() => this.now(), TICK_INTERVAL_MS);
    this.#timer.unref();
  }

  /** Milliseconds in which this process ran. */
  now(): number {
    const at = this.#read();
    const gap = at - this.#readAt;
    if (gap > TICK_INTERVAL_MS + TOLERANCE_MS) this.#stalledMs += gap - TICK_INTERVAL_MS;
    this.#readAt = at;
    return at - this.#stalledMs;
  }

  /** In which it did not, although it had something to do. */
  get stalledMs(): number {
    return this.#stalledMs;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
