/** Runs few pieces of work at a time; who waits takes turns with the others, each in the order in which their work came. */
export class Turns {
  readonly #waiting = new Map<string, (() => void)[]>();
  #free: number;

  constructor(max: number) {
    this.#free = max;
  }

  /** `owner`: whose work it is, where much of one must not hold up another's. */
  async run<T>(work: () => Promise<T>, owner = ''): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#wait(owner, resolve));
    try {
      return await work();
    } finally {
      const next = this.#takeNext();
      if (next) next();
      else this.#free++;
    }
  }

  #wait(owner: string, start: () => void): void {
    const queue = this.#waiting.get(owner);
    if (queue) queue.push(start);
    else this.#waiting.set(owner, [start]);
  }

  /** Of the owner whose turn was the longest ago. */
  #takeNext(): (() => void) | undefined {
    for (const [owner, queue] of this.#waiting) {
      const next = queue.shift();
      this.#waiting.delete(owner);
      if (queue.length > 0) this.#waiting.set(owner, queue);
      return next;
    }
    return undefined;
  }
}
