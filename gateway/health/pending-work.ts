/** Requests at an engine, and how long they have been stalled. Pure. */

interface Work {
  /** Its start, or its last output. */
  signAt: number;
  /** It waits for a slow client, not for the engine. */
  isHeld: boolean;
}

export class PendingWork {
  readonly #hangingAfterMs: number;
  readonly #tasks = new Map<number, Work>();
  #at: number;
  #waitedMs = 0;
  #idleSince: number;
  /** Abandoned since the last output, after a long wait without any. */
  #givenUp = 0;

  /** `hangingAfterMs`: work that has waited this long counts as hanging. */
  constructor(at: number, hangingAfterMs: number) {
    this.#at = at;
    this.#idleSince = at;
    this.#hangingAfterMs = hangingAfterMs;
  }

  /** Time with waiting work, since any output. */
  get waitedMs(): number {
    return this.#waitedMs;
  }

  /** Before anything else that happens at this time. */
  pass(at: number): void {
    if (this.#isAwaited()) {
      this.#waitedMs += at - this.#at;
      this.#idleSince = at;
    }
    this.#at = at;
  }

  begin(id: number): void {
    this.#tasks.set(id, { signAt: this.#at, isHeld: false });
  }

  hold(id: number, isHeld: boolean): void {
    const work = this.#tasks.get(id);
    if (!work) return;
    work.isHeld = isHeld;
    work.signAt = this.#at;
  }

  /** The engine produces output: nothing is stalled. */
  progress(id?: number): void {
    const work = id === undefined ? undefined : this.#tasks.get(id);
    if (work) work.signAt = this.#at;
    this.forget();
  }

  /** False: it had ended before. `isGivenUp`: without a response of the engine. */
  end(id: number, isGivenUp: boolean): boolean {
    const work = this.#tasks.get(id);
    if (!work) return false;
    this.#tasks.delete(id);
    this.#idleSince = this.#at;
    if (isGivenUp && this.#isHanging(work)) this.#givenUp++;
    return true;
  }

  forget(): void {
    this.#waitedMs = 0;
    this.#givenUp = 0;
  }

  /** Resets the wait after a long time without work. */
  forgetAfter(idleMs: number): void {
    if (this.#tasks.size === 0 && this.#at - this.#idleSince >= idleMs) this.forget();
  }

  /** Stalled work, including abandoned work. */
  countHanging(): number {
    let count = this.#givenUp;
    for (const work of this.#tasks.values()) if (this.#isHanging(work)) count++;
    return count;
  }

  #isAwaited(): boolean {
    for (const { isHeld } of this.#tasks.values()) if (!isHeld) return true;
    return false;
  }

  #isHanging({ signAt, isHeld }: Work): boolean {
    return !isHeld && this.#at - signAt >= this.#hangingAfterMs;
  }
}
