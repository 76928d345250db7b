/** A clock that pauses while this process is starved, so that its own stalls do not count against the engine. */

const TICK_INTERVAL_MS = 250;
/** Timers can be this late on a healthy machine. */
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

  /** Milliseconds in which it should have run but did not. */
  get stalledMs(): number {
    return this.#stalledMs;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
