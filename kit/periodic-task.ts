/** Periodic work of a program, never concurrently. */
import { type Clock, systemClock } from './clock.ts';

export interface PeriodicTaskOptions {
  run: () => Promise<void> | void;
  /** Milliseconds from the end of a run to the start of the next one. */
  intervalMs: number;
  /** A failed run does not stop the next one. */
  onError: (error: Error) => void;
  clock?: Clock | undefined;
}

export class PeriodicTask {
  readonly #options: PeriodicTaskOptions;
  #running: Promise<void> = Promise.resolve();
  #cancelNext = () => {};
  #isStopped = true;

  constructor(options: PeriodicTaskOptions) {
    this.#options = options;
  }

  /** `delayMs`: to the first run, which starts at once if absent. */
  start(delayMs?: number): void {
    this.#isStopped = false;
    if (delayMs === undefined) this.#running = this.#runOnce();
    else this.#plan(delayMs);
  }

  /** Resolves when the current run has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelNext();
    await this.#running;
  }

  async #runOnce(): Promise<void> {
    const { run, intervalMs, onError } = this.#options;
    try {
      await run();
    } catch (error) {
      onError(error as Error);
    }
    if (!this.#isStopped) this.#plan(intervalMs);
  }

  #plan(ms: number): void {
    const { clock = systemClock } = this.#options;
    this.#cancelNext = clock.after(ms, () => {
      this.#running = this.#runOnce();
    });
  }
}
