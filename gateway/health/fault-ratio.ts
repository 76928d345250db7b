/** The share of recent requests that failed: a reason to probe the engine, never to declare it unhealthy (decision 0018). Pure. */

/** Requests this old count for a third. */
const FADE_MS = 60_000;
const MIN_FAULTS = 10;
const HIGH = 0.5;

export class FaultRatio {
  readonly #minMs: number;
  #at = 0;
  /** Since when it counts; null before the first request. */
  #since: number | null = null;
  #ended = 0;
  #faults = 0;

  /** `minMs`: not high until it has been counted for this long. */
  constructor(minMs: number) {
    this.#minMs = minMs;
  }

  add(at: number, isFault: boolean, requests = 1): void {
    const fading = fade(at - this.#at);
    this.#at = at;
    this.#since ??= at;
    this.#ended = this.#ended * fading + requests;
    this.#faults = this.#faults * fading + (isFault ? requests : 0);
  }

  isHigh(at: number): boolean {
    if (this.#since === null || at - this.#since < this.#minMs) return false;
    return this.#faults * fade(at - this.#at) >= MIN_FAULTS && this.#faults >= HIGH * this.#ended;
  }

  /** A trial is more conclusive. */
  forget(): void {
    this.#since = null;
    this.#ended = 0;
    this.#faults = 0;
  }
}

const fade = (ms: number): number => Math.exp(-ms / FADE_MS);
