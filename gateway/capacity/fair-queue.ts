/** Waiters for a slot, and whose turn it is: by priority, and round-robin among callers of the same priority. */
import type { Caller } from './capacity.ts';

interface Entry<W> {
  priority: number;
  /** In order of arrival. */
  waiters: Set<W>;
}

/** Every so many slots are given round-robin among all callers, so that low priorities progress, too. */
const PLACES_PER_ROUND_OF_ALL = 4;

export class FairQueue<W> {
  /** By caller, the one served longest ago first. */
  readonly #entries = new Map<string, Entry<W>>();
  #size = 0;
  #given = 0;

  get size(): number {
    return this.#size;
  }

  add({ id, priority }: Caller, waiter: W): void {
    const entry = this.#entries.get(id);
    if (entry) {
      entry.priority = priority;
      entry.waiters.add(waiter);
    } else this.#entries.set(id, { priority, waiters: new Set([waiter]) });
    this.#size++;
  }

  /** False if it no longer waits. */
  remove({ id }: Caller, waiter: W): boolean {
    const entry = this.#entries.get(id);
    if (!entry?.waiters.delete(waiter)) return false;
    if (entry.waiters.size === 0) this.#entries.delete(id);
    this.#size--;
    return true;
  }

  /** The first waiter of the caller whose turn it is, who is not removed; the caller moves to the end of the round. */
  next(): W | null {
    const turn = ++this.#given % PLACES_PER_ROUND_OF_ALL === 0 ? this.#findFirst() : this.#findHighest();
    if (turn === null) return null;
    const entry = this.#entries.get(turn)!;
    this.#entries.delete(turn);
    this.#entries.set(turn, entry);
    const [waiter] = entry.waiters;
    return waiter ?? null;
  }

  /**
   * Who is evicted for one more of a caller: the last of a caller of lower priority, else of the caller with the most, if that
   * has more than the other would have.
   */
  findLeast({ id, priority }: Caller): W | null {
    const entries = [...this.#entries.values()];
    const [lowest] = entries.toSorted((a, b) => a.priority - b.priority || b.waiters.size - a.waiters.size);
    if (lowest && lowest.priority < priority) return [...lowest.waiters].at(-1)!;
    const [most] = entries.toSorted((a, b) => b.waiters.size - a.waiters.size);
    if (!most || most.waiters.size <= (this.#entries.get(id)?.waiters.size ?? 0) + 1) return null;
    return [...most.waiters].at(-1)!;
  }

  #findFirst(): string | null {
    const [first] = this.#entries.keys();
    return first ?? null;
  }

  #findHighest(): string | null {
    let highest: string | null = null;
    let priority = Number.NEGATIVE_INFINITY;
    for (const [id, entry] of this.#entries)
      if (entry.priority > priority) {
        highest = id;
        priority = entry.priority;
      }
    return highest;
  }
}
