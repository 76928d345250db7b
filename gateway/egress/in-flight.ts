/** Bounds how much is under way at once, in all and to one destination; the rest waits its turn. */

export interface InFlightLimits {
  inAll: number;
  perDestination: number;
}

interface Waiting {
  destination: string;
  start: () => void;
}

export class InFlight {
  readonly #limits: InFlightLimits;
  readonly #counts = new Map<string, number>();
  #inAll = 0;
  #waiting: Waiting[] = [];

  constructor(limits: InFlightLimits) {
    this.#limits = limits;
  }

  /** Resolves to what ends the turn, to be called once; rejects with the signal's reason. */
  async enter(destination: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#hasRoom(destination)) this.#count(destination, 1);
    else await this.#wait(destination, signal);
    return () => this.#leave(destination);
  }

  #wait(destination: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        destination,
        start: () => {
          signal.removeEventListener('abort', abandon);
          resolve();
        },
      };
      const abandon = () => {
        this.#waiting = this.#waiting.filter((other) => other !== waiting);
        reject(signal.reason);
      };
      signal.addEventListener('abort', abandon, { once: true });
      this.#waiting.push(waiting);
    });
  }

  #leave(destination: string): void {
    this.#count(destination, -1);
    // A destination that is full keeps nobody else waiting.
    const next = this.#waiting.find((waiting) => this.#hasRoom(waiting.destination));
    if (!next) return;
    this.#waiting = this.#waiting.filter((other) => other !== next);
    this.#count(next.destination, 1);
    next.start();
  }

  #hasRoom(destination: string): boolean {
    const { inAll, perDestination } = this.#limits;
    return this.#inAll < inAll && (this.#counts.get(destination) ?? 0) < perDestination;
  }

  #count(destination: string, change: 1 | -1): void {
    const count = (this.#counts.get(destination) ?? 0) + change;
    this.#inAll += change;
    if (count === 0) this.#counts.delete(destination);
    else this.#counts.set(destination, count);
  }
}
