/** A budget that many owners share, so that none takes it all: memory, places, connections. */

export interface SharesOptions {
  total: number;
  /** The most that an owner holds. Its only holding may be larger. */
  perOwner?: number;
  /** The most that an owner holds, as a multiple of what is free. The less is free, the less it may take. */
  shareOfFree?: number;
  /** How long a holding waits to grow. */
  waitMs?: number;
}

interface Waiting {
  share: Share;
  amount: number;
  resolve(hasGrown: boolean): void;
  timer: NodeJS.Timeout;
}

export class Shares {
  readonly #total: number;
  readonly #perOwner: number;
  readonly #shareOfFree: number | null;
  readonly #waitMs: number;
  readonly #held = new Map<string, number>();
  #used = 0;
  #waiting: Waiting[] = [];

  constructor({ total, perOwner = total, shareOfFree, waitMs = 0 }: SharesOptions) {
    this.#total = total;
    this.#perOwner = perOwner;
    this.#shareOfFree = shareOfFree ?? null;
    this.#waitMs = waitMs;
  }

  get used(): number {
    return this.#used;
  }

  /** The most that one holding may be. */
  get maxAmount(): number {
    // The share of what is free, solved for an owner that holds all that is used.
    return this.#shareOfFree === null ? this.#total : Math.floor(this.#total / (1 + 1 / this.#shareOfFree));
  }

  /** A share that holds nothing yet. */
  open(owner: string): Share {
    return new Share(this, owner);
  }

  heldBy(owner: string): number {
    return this.#held.get(owner) ?? 0;
  }

  /** Whether the owner may take this much more now. */
  isFree(owner: string, amount: number): boolean {
    const free = this.#total - this.#used - amount;
    if (free < 0) return false;
    const held = this.heldBy(owner);
    if (held > 0 && held + amount > this.#perOwner) return false;
    return this.#shareOfFree === null || held + amount <= this.#shareOfFree * free;
  }

  /** Whether there is room, at once or within the waiting time; false also for a share that is released meanwhile. */
  take(share: Share, amount: number): boolean | Promise<boolean> {
    if (this.tryTake(share, amount)) return true;
    return new Promise((resolve) => {
      const waiting: Waiting = { share, amount, resolve, timer: setTimeout(abandon, this.#waitMs, this) };
      function abandon(shares: Shares) {
        shares.#waiting = shares.#waiting.filter((other) => other !== waiting);
        resolve(false);
      }
      this.#waiting.push(waiting);
    });
  }

  tryTake(share: Share, amount: number): boolean {
    const isFree = this.isFree(share.owner, amount);
    if (isFree) this.#hold(share, amount);
    return isFree;
  }

  /** Frees what a share holds, and refuses what it waits for. */
  release(share: Share): void {
    this.#hold(share, -share.amount);
    if (this.#waiting.length === 0) return;
    for (const waiting of this.#waiting.filter((each) => each.share === share)) this.#end(waiting, false);
    // In order of arrival; an owner over its share does not block others.
    for (const waiting of [...this.#waiting]) {
      if (this.tryTake(waiting.share, waiting.amount)) this.#end(waiting, true);
    }
  }

  #end(waiting: Waiting, hasGrown: boolean): void {
    this.#waiting = this.#waiting.filter((other) => other !== waiting);
    clearTimeout(waiting.timer);
    waiting.resolve(hasGrown);
  }

  #hold(share: Share, amount: number): void {
    share.amount += amount;
    this.#used += amount;
    const held = this.heldBy(share.owner) + amount;
    if (held === 0) this.#held.delete(share.owner);
    else this.#held.set(share.owner, held);
  }
}

/** One holding of an owner. */
export class Share {
  readonly owner: string;
  readonly #shares: Shares;
  /** Changed by its budget alone. */
  amount = 0;
  #isReleased = false;

  constructor(shares: Shares, owner: string) {
    this.#shares = shares;
    this.owner = owner;
  }

  /** Grows it to `amount` in total; false if there is no room within the waiting time. */
  grow(amount: number): boolean | Promise<boolean> {
    if (this.#isReleased) return false;
    return amount <= this.amount || this.#shares.take(this, amount - this.amount);
  }

  /** Grows it; false if there is no room now. */
  tryAdd(amount: number): boolean {
    return !this.#isReleased && this.#shares.tryTake(this, amount);
  }

  /** May be called more than once. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#shares.release(this);
  }
}
