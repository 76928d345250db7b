/** Lines of a chunk that are still to be run: at once, after a rest, or when their key may send again. */

export interface WaitingLine {
  customId: string;
  body: string;
  /** How often it has failed. */
  attempts: number;
}

/** Before the second and the third attempt: an engine that crashes fails many lines before it counts as lost. */
const REPEAT_MS = [1_000, 10_000];

export class LineQueue {
  readonly #onReady: () => void;
  readonly #lines: WaitingLine[] = [];
  #resting = 0;
  /** By performance.now(). */
  #pausedUntil = 0;

  /** `onReady`: a rest or a pause has ended. */
  constructor(onReady: () => void) {
    this.#onReady = onReady;
  }

  /** Lines that do not rest. */
  get waiting(): number {
    return this.#lines.length;
  }

  /** All that are left. */
  get size(): number {
    return this.#lines.length + this.#resting;
  }

  get isPaused(): boolean {
    return performance.now() < this.#pausedUntil;
  }

  add(line: WaitingLine): void {
    this.#lines.push(line);
  }

  /** The next one, which the caller knows to be there. */
  take(): WaitingLine {
    return this.#lines.shift()!;
  }

  /** It was not run after all, and is the next again. */
  putBack(line: WaitingLine): void {
    this.#lines.unshift(line);
  }

  /** Rests a line that failed; false: it has failed too often. */
  repeat(line: WaitingLine): boolean {
    const ms = REPEAT_MS[line.attempts++];
    if (ms === undefined) return false;
    this.#resting++;
    setTimeout(() => {
      this.#resting--;
      this.#lines.push(line);
      this.#onReady();
    }, ms).unref();
    return true;
  }

  /** Puts a line at the end, and pauses all of them. */
  pause(line: WaitingLine, ms: number): void {
    this.#lines.push(line);
    this.#pausedUntil = performance.now() + ms;
    setTimeout(this.#onReady, ms + 1).unref();
  }

  /** Takes all that do not rest. */
  takeAll(): WaitingLine[] {
    return this.#lines.splice(0);
  }
}
