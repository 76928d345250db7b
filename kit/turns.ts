/** Whose turn it is where many owners want the same thing: of those that wait, the one that has used the least of it. */

/** Every so many turns go to whoever has used the least, whatever its priority, so that low priorities progress (decision 0154). */
const TURNS_PER_TURN_OF_ALL = 4;

/** One that waits. */
export interface Turn<T> {
  owner: string;
  item: T;
}

export interface Owner<T> {
  readonly id: string;
  priority: number;
  /** In order of arrival. */
  readonly waiting: Set<T>;
  /** On the scale of `#now`: when it will have paid for what it has used. */
  paidUpAt: number;
}

/**
 * Decides only: what a turn is, and how long it takes, is up to the caller, who charges for it afterwards. Time advances to
 * where the latest owner stood at its turn (start-time fair queueing): one that comes starts from there, without credit for the
 * time it was away, so it waits for one turn of each other owner at most. One that has paid for its turns and waits for none is
 * forgotten.
 */
export class Turns<T> {
  /** Those that wait or have not paid yet, the one that had a turn longest ago first. */
  readonly #owners = new Map<string, Owner<T>>();
  #now = 0;
  #given = 0;
  #hasPriorities = false;
  #size = 0;

  /** Number of entries that wait. */
  get size(): number {
    return this.#size;
  }

  /** Whether all owners are free. */
  get isIdle(): boolean {
    return this.#owners.size === 0;
  }

  /** Owners that wait or have not paid yet. */
  owners(): Iterable<Readonly<Owner<T>>> {
    return this.#owners.values();
  }

  /** `priority`: of the owner, higher first. */
  add(id: string, item: T, priority = 0): void {
    const owner = this.#findOrAdd(id);
    owner.priority = priority;
    this.#hasPriorities ||= priority !== 0;
    owner.waiting.add(item);
    this.#size++;
  }

  /** False if it does not wait. */
  remove(id: string, item: T): boolean {
    const owner = this.#owners.get(id);
    if (!owner?.waiting.delete(item)) return false;
    this.#size--;
    this.#forgetPaid(owner);
    return true;
  }

  /**
   * What is next, which goes on waiting until it is removed; null if nothing waits that may have a turn. `mayItem`: for items of an
   * owner that may, from its first on.
   */
  next(mayOwner: (id: string) => boolean = always, mayItem: (item: T) => boolean = always): Turn<T> | null {
    const isTurnOfAll = (this.#given + 1) % TURNS_PER_TURN_OF_ALL === 0;
    let best: Owner<T> | null = null;
    let next: T | undefined;
    for (const owner of this.#owners.values()) {
      if (owner.waiting.size === 0) this.#forgetPaid(owner);
      else if (!best || isBefore(owner, best, isTurnOfAll)) {
        const item = mayOwner(owner.id) ? findItem(owner, mayItem) : undefined;
        if (item === undefined) continue;
        best = owner;
        next = item;
        // Among those that have paid, the one that had a turn longest ago comes first: there may be thousands of others.
        if (!this.#hasPriorities && owner.paidUpAt <= this.#now) break;
      }
    }
    if (!best) return null;
    this.#given++;
    this.#now = Math.max(this.#now, best.paidUpAt);
    return { owner: best.id, item: next! };
  }

  /** For a turn, or for what an owner used without one. */
  charge(id: string, cost: number): void {
    const owner = this.#findOrAdd(id);
    owner.paidUpAt = Math.max(owner.paidUpAt, this.#now) + cost;
    this.#owners.delete(id);
    this.#owners.set(id, owner);
  }

  /** Whether it waits for nothing and has paid for all. */
  isFree(id: string): boolean {
    const owner = this.#owners.get(id);
    return !owner || (owner.waiting.size === 0 && owner.paidUpAt <= this.#now);
  }

  /** Counts all as paid: what was used is no matter where nobody waits for it. */
  forgive(): void {
    for (const owner of this.#owners.values()) {
      owner.paidUpAt = this.#now;
      this.#forgetPaid(owner);
    }
  }

  #findOrAdd(id: string): Owner<T> {
    let owner = this.#owners.get(id);
    if (!owner) {
      owner = { id, priority: 0, waiting: new Set(), paidUpAt: this.#now };
      this.#owners.set(id, owner);
    }
    return owner;
  }

  #forgetPaid(owner: Owner<T>): void {
    if (owner.waiting.size === 0 && owner.paidUpAt <= this.#now) this.#owners.delete(owner.id);
  }
}

const always = (): boolean => true;

function findItem<T>({ waiting }: Owner<T>, may: (item: T) => boolean): T | undefined {
  for (const item of waiting) if (may(item)) return item;
  return undefined;
}

/** On a tie, the one that comes first in the round stays before. */
function isBefore(one: Owner<unknown>, other: Owner<unknown>, isTurnOfAll: boolean): boolean {
  if (!isTurnOfAll && one.priority !== other.priority) return one.priority > other.priority;
  return one.paidUpAt < other.paidUpAt;
}
