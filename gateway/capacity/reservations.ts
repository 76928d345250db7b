/** Slots reserved for peers: each is used once, or expires. */
import { randomUUID } from 'node:crypto';
import { RESERVATION_MS } from './peer-protocol.ts';
import type { Slots } from './replica-capacity.ts';

type Release = () => void;

export class Reservations {
  readonly #slots: Slots;
  readonly #lifetimeMs: number;
  readonly #held = new Map<string, { release: Release; timer: NodeJS.Timeout }>();

  constructor(slots: Slots, lifetimeMs = RESERVATION_MS) {
    this.#slots = slots;
    this.#lifetimeMs = lifetimeMs;
  }

  /** The reservation's id, or null if no slot is free. */
  make(): string | null {
    const release = this.#slots.hold();
    if (!release) return null;
    const id = randomUUID();
    const timer = setTimeout(() => this.cancel(id), this.#lifetimeMs);
    timer.unref();
    this.#held.set(id, { release, timer });
    return id;
  }

  /** Releases the slot, unless it was handed over. */
  cancel(id: string): void {
    const reservation = this.#held.get(id);
    if (!reservation) return;
    this.#held.delete(id);
    clearTimeout(reservation.timer);
    reservation.release();
  }

  /** Hands over the slot, to be released by the caller; null if unknown, used or expired. */
  redeem(id: string): Release | null {
    const reservation = this.#held.get(id);
    if (!reservation) return null;
    this.#held.delete(id);
    clearTimeout(reservation.timer);
    return this.#slots.countBusy(reservation.release);
  }
}
