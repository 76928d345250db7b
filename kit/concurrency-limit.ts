import { type Share, Shares } from './shares.ts';
import { Turns } from './turns.ts';

/** Limits concurrent tasks; waiting ones take turns by owner, each owner's in order of arrival. */
export class ConcurrencyLimit {
  readonly #waiting = new Turns<() => void>();
  readonly #running: Shares;

  constructor(max: number, { perOwner = max }: { perOwner?: number } = {}) {
    this.#running = new Shares({ total: max, perOwner });
  }

  /**
   * `owner`: whose task it is, if many of one must not delay another's. `signal` ends the wait, not the task. Rejects
   * with the signal's reason, or as the task does.
   */
  async run<T>(task: () => Promise<T>, owner = '', signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    const place = this.#running.open(owner);
    if (!place.tryAdd(1)) await this.#wait(place, signal);
    try {
      return await task();
    } finally {
      place.release();
      this.#giveTurn();
    }
  }

  #wait(place: Share, signal: AbortSignal | undefined): Promise<void> {
    const { owner } = place;
    return new Promise((resolve, reject) => {
      const start = () => {
        signal?.removeEventListener('abort', abandon);
        place.tryAdd(1);
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

  #giveTurn(): void {
    const turn = this.#waiting.next((owner) => this.#running.isFree(owner, 1));
    if (!turn) return;
    const { owner, item: start } = turn;
    this.#waiting.remove(owner, start);
    this.#waiting.charge(owner, 1);
    if (this.#waiting.size === 0) this.#waiting.forgive();
    start();
  }
}
