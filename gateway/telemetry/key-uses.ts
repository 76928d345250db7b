/** When each API key was last used: recorded in memory, at most once a minute per key. */

const INTERVAL_MS = 60_000;

export class KeyUses {
  /** Unix milliseconds of uses recorded within the last minute. */
  readonly #recent = new Map<string, number>();
  #waiting = new Map<string, number>();

  /** `now`: Unix milliseconds. */
  note(sha256: string, now: number): void {
    const last = this.#recent.get(sha256);
    if (last !== undefined && now - last < INTERVAL_MS) return;
    this.#recent.set(sha256, now);
    this.#waiting.set(sha256, now);
  }

  /** Pending writes, by the SHA-256 of the keys. */
  take(now: number): ReadonlyMap<string, number> {
    for (const [sha256, at] of this.#recent) if (now - at >= INTERVAL_MS) this.#recent.delete(sha256);
    const taken = this.#waiting;
    this.#waiting = new Map();
    return taken;
  }

  /** Restores failed writes, unless the key was used again meanwhile. */
  restore(taken: ReadonlyMap<string, number>): void {
    for (const [sha256, at] of taken) if (!this.#waiting.has(sha256)) this.#waiting.set(sha256, at);
  }
}
