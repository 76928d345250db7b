/** Runs few pieces of work at a time; who waits takes turns with the others, each in the order in which their work came. */
export class Turns {
  readonly #waiting = new Map<string, (() => void)[]>();
  readonly #running = new Map<string, number>();
  readonly #each: number;
  #free: number;

  /** `each`: at most at a time of one owner. */
  constructor(max: number, { each = max }: { each?: number } = {}) {
    this.#free = max;
    this.#each = each;
  }

  /** `owner`: whose work it is, where much of one must not hold up another's. */
  async run<T>(work: () => Promise<T>, owner = ''): Promise<T> {
    if (this.#free > 0 && this.#mayRun(owner)) this.#begin(owner);
    else await new Promise<void>((resolve) => this.#wait(owner, resolve));
    try {
      return await work();
    } finally {
      this.#end(owner);
      this.#takeNext()?.();
    }
  }

  readonly #mayRun = (owner: string): boolean => (this.#running.get(owner) ?? 0) < this.#each;

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

  #wait(owner: string, start: () => void): void {
    const queue = this.#waiting.get(owner);
    if (queue) queue.push(start);
    else this.#waiting.set(owner, [start]);
  }

  /** Of the owner whose turn was the longest ago. */
  #takeNext(): (() => void) | undefined {
    for (const [owner, queue] of this.#waiting) {
      if (!this.#mayRun(owner)) continue;
      this.#begin(owner);
      const next = queue.shift();
      this.#waiting.delete(owner);
      if (queue.length > 0) this.#waiting.set(owner, queue);
      return next;
    }
    return undefined;
  }
}
