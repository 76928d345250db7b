/** Chooses the replica for a request: the one with the fewest of this front's requests, round-robin among equals. */
import { type Clock, systemClock } from '../../kit/clock.ts';

/** Else one that is gone has the fewest requests, and each one tries it first. */
const AVOID_MS = 10_000;

export class ReplicaPicker {
  readonly #inflight = new Map<string, number>();
  /** Until when. */
  readonly #avoided = new Map<string, number>();
  readonly #clock: Pick<Clock, 'now'>;
  #turn = 0;

  constructor(clock: Pick<Clock, 'now'> = systemClock) {
    this.#clock = clock;
  }

  /** All addresses, best first. */
  rank(addresses: readonly string[]): string[] {
    const start = this.#turn++ % Math.max(1, addresses.length);
    const inTurn = [...addresses.slice(start), ...addresses.slice(0, start)];
    inTurn.sort((a, b) => this.#count(a) - this.#count(b));
    if (this.#avoided.size === 0) return inTurn;
    const now = this.#clock.now();
    const isAvoided = (address: string) => now < (this.#avoided.get(address) ?? Number.NEGATIVE_INFINITY);
    return [...inTurn.filter((address) => !isAvoided(address)), ...inTurn.filter(isAvoided)];
  }

  /** It could not be reached: others come first for some seconds. */
  avoid(address: string): void {
    const now = this.#clock.now();
    for (const [each, until] of this.#avoided) if (until <= now) this.#avoided.delete(each);
    this.#avoided.set(address, now + AVOID_MS);
  }

  /** Counts a request at an address until the returned function is called. */
  enter(address: string): () => void {
    this.#inflight.set(address, this.#count(address) + 1);
    return () => {
      const left = this.#count(address) - 1;
      if (left > 0) this.#inflight.set(address, left);
      else this.#inflight.delete(address);
    };
  }

  #count(address: string): number {
    return this.#inflight.get(address) ?? 0;
  }
}
