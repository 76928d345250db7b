/** Limits open streams or large responses, per owner and in total. */
import type { ServerResponse } from 'node:http';
import { ConsoleError } from './error.ts';

export class StreamSlots {
  readonly #taken = new Map<string, number>();
  readonly #max: { each: number; all: number };
  #all = 0;

  /** `each`: of one owner, such as a user or a workspace. */
  constructor(max: { each: number; all: number }) {
    this.#max = max;
  }

  /** Returns the release function, to be called once. Throws rate_limit_exceeded. */
  take(owner: string): () => void {
    const taken = this.#taken.get(owner) ?? 0;
    if (taken >= this.#max.each || this.#all >= this.#max.all)
      throw new ConsoleError(
        'rate_limit_exceeded',
        taken >= this.#max.each
          ? `You already have ${taken} of these open. Close one in another tab, or try again later.`
          : 'The console has too many of these open. Try again later.',
        { retryAfter: 10 },
      );
    this.#taken.set(owner, taken + 1);
    this.#all++;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      const left = this.#taken.get(owner)! - 1;
      if (left === 0) this.#taken.delete(owner);
      else this.#taken.set(owner, left);
      this.#all--;
    };
  }

  /** Until the response is closed. Throws rate_limit_exceeded. */
  takeFor(response: ServerResponse, owner: string): void {
    // If the client has already disconnected, there is no further close event.
    if (!response.closed) response.once('close', this.take(owner));
  }
}
