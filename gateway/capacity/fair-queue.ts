/** Waiters for a slot, and whose turn it is: by priority, and fair among callers of the same priority. */

import { type Owner, Turns } from '../../kit/turns.ts';
import type { Caller } from './capacity.ts';

export class FairQueue<W> {
  readonly #turns = new Turns<W>();

  get size(): number {
    return this.#turns.size;
  }

  add({ id, priority }: Caller, waiter: W): void {
    this.#turns.add(id, waiter, priority);
  }

  /** False if it no longer waits. */
  remove({ id }: Caller, waiter: W): boolean {
    const isRemoved = this.#turns.remove(id, waiter);
    if (this.#turns.size === 0) this.#turns.forgive();
    return isRemoved;
  }

  /** The first waiter of the caller whose turn it is, of those that may have one. It is not removed. */
  next(may?: (waiter: W) => boolean): W | null {
    const turn = this.#turns.next(undefined, may);
    if (turn) this.#turns.charge(turn.owner, 1);
    return turn?.item ?? null;
  }

  /** Any waiter for which this holds; nobody's turn changes. */
  find(holds: (waiter: W) => boolean): W | undefined {
    for (const { waiting } of this.#turns.owners())
      for (const waiter of waiting) if (holds(waiter)) return waiter;
    return undefined;
  }

  /**
   * Who is evicted for one more of a caller: the last of a caller of lower priority, else of the caller with the most, if that
   * has more than the other would have.
   */
  findLeast({ id, priority }: Caller): W | null {
    const owners = [...this.#turns.owners()].filter(({ waiting }) => waiting.size > 0);
    const [lowest] = owners.toSorted((a, b) => a.priority - b.priority || b.waiting.size - a.waiting.size);
    if (lowest && lowest.priority < priority) return findLast(lowest);
    const [most] = owners.toSorted((a, b) => b.waiting.size - a.waiting.size);
    const own = owners.find((owner) => owner.id === id)?.waiting.size ?? 0;
    return most && most.waiting.size > own + 1 ? findLast(most) : null;
  }
}

const findLast = <W>({ waiting }: Readonly<Owner<W>>): W => [...waiting].at(-1)!;
