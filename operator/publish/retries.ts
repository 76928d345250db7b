/** Retry schedule of targets, with backoff, so that permanent failures cost little. */
import { type Backoff, exponentialDelay } from '../../kit/retry.ts';
import { type Target, targetKey } from './desired-state.ts';

interface Entry {
  target: Target;
  attempts: number;
  dueAt: number;
}

export class Retries {
  readonly #backoff: Backoff;
  readonly #clock: () => number;
  readonly #entries = new Map<string, Entry>();

  constructor(backoff: Backoff, clock: () => number = Date.now) {
    this.#backoff = backoff;
    this.#clock = clock;
  }

  /** Schedules the next attempt after one that was just made; returns how many were made. */
  note(target: Target): number {
    const key = targetKey(target);
    const attempts = (this.#entries.get(key)?.attempts ?? 0) + 1;
    const dueAt = this.#clock() + exponentialDelay(this.#backoff, attempts);
    this.#entries.set(key, { target, attempts, dueAt });
    return attempts;
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  /** Removes all whose keys are not among these. */
  retain(keys: ReadonlySet<string>): void {
    for (const key of this.#entries.keys()) if (!keys.has(key)) this.#entries.delete(key);
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  isDue(key: string): boolean {
    const entry = this.#entries.get(key);
    return entry === undefined || entry.dueAt <= this.#clock();
  }

  due(): Target[] {
    return [...this.#entries].flatMap(([key, { target }]) => (this.isDue(key) ? [target] : []));
  }

  /** Until the next is due; infinite where there is none. */
  get nextInMs(): number {
    const earliest = Math.min(...[...this.#entries.values()].map(({ dueAt }) => dueAt));
    return Math.max(0, earliest - this.#clock());
  }

  get size(): number {
    return this.#entries.size;
  }
}
