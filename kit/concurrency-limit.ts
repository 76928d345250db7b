import { Turns } from './turns.ts';

/** Limits concurrent tasks; waiting ones take turns by owner, each owner's in order of arrival. */
export class ConcurrencyLimit {
  readonly #waiting = new Turns<() => void>();
  readonly #running = new Map<string, number>();
  readonly #maxPerOwner: number;
  #free: number;

  constructor(max: number, { perOwner = max }: { perOwner?: number } = {}) {
    this.#free = max;
    this.#maxPerOwner = perOwner;
  }

  /**
   * `owner`: whose task it is, if many of one must not delay another's. `signal` ends the wait, not the task. Rejects
   * with the signal's reason, or as the task does.
   */
  async run<T>(task: () => Promise<T>, owner = '', signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    if (this.#free > 0 && this.#mayRun(owner)) this.#begin(owner);
    else await this.#wait(owner, signal);
    try {
      return await task();
    } finally {
      this.#end(owner);
      this.#takeNext()?.();
    }
  }

  readonly #mayRun = (owner: string): boolean => (this.#running.get(owner) ?? 0) < this.#maxPerOwner;

  #begin(owner: string): void {
    this.#free--;
    this.#running.set(owner, (this.#running.get(owner) ?? 0) + 1);
  }

  #end(owner: string): void {
    this.#free++;
    const left = this.#running.get(owner)! - 1;
    if (left === 0) this.#running.delete(owner);
    else this.#running.set(owner, left);
  }

  #wait(owner: string, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const start = () => {
        signal?.removeEventListener('abort', abandon);
        resolve();
      };
      const abandon = () => {
        this.#waiting.remove(owner, start);
        reject(signal!.reason);
      };
      signal?.addEventListener('abort', abandon, { once: true });
      this.#waiting.add(owner, start);
    });
  }

  #takeNext(): (() => void) | undefined {
    const turn = this.#waiting.next(this.#mayRun);
    if (!turn) return undefined;
    const { owner, item: start } = turn;
    this.#begin(owner);
    this.#waiting.remove(owner, start);
    this.#waiting.charge(owner, 1);
    if (this.#waiting.size === 0) this.#waiting.forgive();
    return start;
  }
}
