/** Limits open streams or large responses, per owner and in total. */
import type { ServerResponse } from 'node:http';
import { Shares } from '../../../kit/shares.ts';
import { ConsoleError } from './error.ts';

export class StreamSlots {
  readonly #slots: Shares;
  readonly #each: number;

  /** `each`: of one owner, such as a user or a workspace. */
  constructor({ each, all }: { each: number; all: number }) {
    this.#slots = new Shares({ total: all, perOwner: each });
    this.#each = each;
  }

  /** Returns the release function. Throws rate_limit_exceeded. */
  take(owner: string): () => void {
    const slot = this.#slots.open(owner);
    if (slot.tryAdd(1)) return () => slot.release();
    const taken = this.#slots.heldBy(owner);
    throw new ConsoleError(
      'rate_limit_exceeded',
      taken >= this.#each
        ? `You already have ${taken} of these open. Close one in another tab, or try again later.`
        : 'The console has too many of these open. Try again later.',
      { retryAfter: 10 },
    );
  }

  /** Until the response is closed. Throws rate_limit_exceeded. */
  takeFor(response: ServerResponse, owner: string): void {
    // If the client has already disconnected, there is no further close event.
    if (!response.closed) response.once('close', this.take(owner));
  }
}
