/** Keys that are due, in two lanes: what somebody changed goes before what is only looked at again. */
const LANES = ['fast', 'slow'] as const;
export type Lane = (typeof LANES)[number];

export interface DueKey {
  key: string;
  lane: Lane;
  /** When it became due. */
  since: number;
}

/** A slow key that has waited longer takes every second turn, so that a stream of changes starves none. */
const MAX_SLOW_WAIT_MS = 10_000;

export class DueKeys {
  /** Maps keep the order of insertion: the first key of a lane has waited longest. */
  readonly #lanes: Record<Lane, Map<string, number>> = { fast: new Map(), slow: new Map() };
  #lastAged = false;

  get size(): number {
    return this.#lanes.fast.size + this.#lanes.slow.size;
  }

  has(key: string): boolean {
    return this.#lanes.fast.has(key) || this.#lanes.slow.has(key);
  }

  /** Adds a key, or moves it to the fast lane; false where nothing changed. */
  add(key: string, lane: Lane, now: number): boolean {
    const { fast, slow } = this.#lanes;
    if (fast.has(key) || (lane === 'slow' && slow.has(key))) return false;
    slow.delete(key);
    this.#lanes[lane].set(key, now);
    return true;
  }

  /** Takes out the key whose turn it is, passing over those that `isBusy`. */
  take(now: number, isBusy: (key: string) => boolean): DueKey | undefined {
    const slow = this.#peek('slow', isBusy);
    const aged = slow !== undefined && !this.#lastAged && now - slow.since > MAX_SLOW_WAIT_MS;
    const taken = aged ? slow : (this.#peek('fast', isBusy) ?? slow);
    this.#lastAged = aged;
    if (taken) this.#lanes[taken.lane].delete(taken.key);
    return taken;
  }

  clear(): void {
    for (const lane of LANES) this.#lanes[lane].clear();
  }

  #peek(lane: Lane, isBusy: (key: string) => boolean): DueKey | undefined {
    for (const [key, since] of this.#lanes[lane]) if (!isBusy(key)) return { key, lane, since };
    return undefined;
  }
}
