/** Finds replicas that are gone although their connections stand: a node that loses its power closes none. */
import { connect } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { type Clock, systemClock } from '../../kit/clock.ts';

export interface Listening {
  /** Something came from the replica. */
  hear: () => void;
  leave: () => void;
}

interface Replica {
  readonly requests: Set<() => void>;
  heardAt: number;
  cancel: () => void;
}

const SILENCE_MS = 5_000;
const CONNECT_TIMEOUT_MS = 2_000;
const UNREACHABLE = new Set(['EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT']);
/** One packet is easily lost. */
const ATTEMPTS = 2;

export class SilenceWatch {
  readonly #canReach: (address: string) => Promise<boolean>;
  readonly #clock: Clock;
  readonly #replicas = new Map<string, Replica>();

  constructor(canReach: (address: string) => Promise<boolean>, clock: Clock = systemClock) {
    this.#canReach = canReach;
    this.#clock = clock;
  }

  /** Calls `onLost` once if the replica sends nothing to any request for 5 s, and accepts no connection either. */
  watch(address: string, onLost: () => void): Listening {
    const replica = this.#replicas.get(address) ?? this.#begin(address);
    // Two requests may have the same function.
    const lose = () => onLost();
    replica.requests.add(lose);
    return {
      hear: () => {
        replica.heardAt = this.#clock.now();
      },
      leave: () => {
        replica.requests.delete(lose);
        if (replica.requests.size === 0) this.#end(address, replica);
      },
    };
  }

  #begin(address: string): Replica {
    const replica: Replica = { requests: new Set(), heardAt: this.#clock.now(), cancel: () => {} };
    this.#replicas.set(address, replica);
    this.#schedule(address, replica);
    return replica;
  }

  #end(address: string, replica: Replica): void {
    replica.cancel();
    if (this.#replicas.get(address) === replica) this.#replicas.delete(address);
  }

  #schedule(address: string, replica: Replica): void {
    const wait = replica.heardAt + SILENCE_MS - this.#clock.now();
    replica.cancel = this.#clock.after(Math.max(0, wait), () => void this.#check(address, replica));
  }

  async #check(address: string, replica: Replica): Promise<void> {
    const isSilent = () => this.#clock.now() - replica.heardAt >= SILENCE_MS;
    for (let attempt = 0; attempt < ATTEMPTS && isSilent(); attempt++)
      if (await this.#canReach(address)) replica.heardAt = this.#clock.now();
    if (replica.requests.size === 0) return;
    if (!isSilent()) return this.#schedule(address, replica);
    // Later requests are watched anew.
    this.#end(address, replica);
    for (const lose of [...replica.requests]) lose();
  }
}

/** False if nothing answers there within the time; errors of this process's own say nothing about the replica. */
export function canConnect(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const finish = (isReached: boolean) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(isReached);
    };
    // Where this process stood still, the connection may have been established meanwhile.
    const timer = setTimeout(
      () => void setImmediate().then(() => finish(!socket.connecting && !socket.destroyed)),
      CONNECT_TIMEOUT_MS,
    );
    socket.once('connect', () => finish(true));
    socket.once('error', (error: NodeJS.ErrnoException) => {
      // A route may come back within the time.
      if (!UNREACHABLE.has(error.code!)) finish(true);
    });
  });
}
