/** A drain of a worker: it claims nothing more, and gives back what has not ended shortly before the end. */
import { MAX_TIMER_MS } from './lease.ts';

/** To notify Redis and the engine. */
export const RELEASE_BEFORE_END_MS = 5_000;

export class WindDown {
  #isOn = false;
  #end: NodeJS.Timeout | undefined;

  get isOn(): boolean {
    return this.#isOn;
  }

  /** `release` gives back what has not ended by then. */
  start(withinMs: number, release: () => void): void {
    this.#isOn = true;
    clearTimeout(this.#end);
    const ms = Math.min(Math.max(0, withinMs - RELEASE_BEFORE_END_MS), MAX_TIMER_MS);
    this.#end = setTimeout(release, ms);
  }

  /** The drain is called off. */
  cancel(): void {
    this.close();
    this.#isOn = false;
  }

  /** Nothing is left to give back. */
  close(): void {
    clearTimeout(this.#end);
  }
}
