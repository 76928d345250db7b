import type { Clock } from '../../kit/clock.ts';

interface Timer {
  at: number;
  callback: () => void;
}

/** Time that stands still until it is advanced. */
export class FakeClock implements Clock {
  #time = 0;
  readonly #timers = new Set<Timer>();

  now = () => this.#time;
  date = () => new Date(Date.UTC(2026, 0, 1) + this.#time);
  after = (ms: number, callback: () => void) => {
    const timer = { at: this.#time + ms, callback };
    this.#timers.add(timer);
    return () => {
      this.#timers.delete(timer);
    };
  };

  /** The number of pending timers. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Time passes during work that is not interrupted: no timer runs. */
  elapse(ms: number): void {
    this.#time += ms;
  }

  /** Advances time, running each timer when it is due and everything that follows from it. */
  async advance(ms: number): Promise<void> {
    const end = this.#time + ms;
    await settle();
    for (;;) {
      const [next] = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
      if (!next) break;
      this.#timers.delete(next);
      this.#time = Math.max(this.#time, next.at);
      next.callback();
      await settle();
    }
    this.#time = Math.max(this.#time, end);
  }
}

/** Lets all pending promises that can continue do so. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
}
