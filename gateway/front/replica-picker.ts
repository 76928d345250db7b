/** Chooses the replica for a request: the one with the fewest of this front's requests, round-robin among equals. */

export class ReplicaPicker {
  readonly #inflight = new Map<string, number>();
  #turn = 0;

  /** All addresses, best first. */
  rank(addresses: readonly string[]): string[] {
    const start = this.#turn++ % Math.max(1, addresses.length);
    const inTurn = [...addresses.slice(start), ...addresses.slice(0, start)];
    return inTurn.sort((a, b) => this.#count(a) - this.#count(b));
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
