/** Informs the client of a held stream, in comments, which clients ignore and which keep load balancers from timing out. */
import { type Clock, systemClock } from '../../../kit/clock.ts';
import { EventStream } from '../../http/event-stream.ts';
import type { Exchange } from '../../http/exchange.ts';

/** Below the idle timeout of common load balancers; a shorter hold leaves the response its own status. */
const INTERVAL_MS = 5_000;

export interface HoldNoticesOptions {
  exchange: Exchange;
  /** Remaining seconds of the start; undefined if unknown. */
  leftSeconds: () => number | undefined;
  clock?: Clock;
}

export class HoldNotices {
  readonly #options: HoldNoticesOptions;
  readonly #clock: Clock;
  readonly #startedAt: number;
  #cancel: () => void;
  /** A replica has the request, but has not started to respond. */
  isServed = false;

  constructor(options: HoldNoticesOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#startedAt = this.#clock.now();
    this.#cancel = this.#schedule();
  }

  stop(): void {
    this.#cancel();
  }

  #schedule(): () => void {
    return this.#clock.after(INTERVAL_MS, () => {
      this.#cancel = this.#schedule();
      this.#write();
    });
  }

  #write(): void {
    const { exchange } = this.#options;
    const { res } = exchange;
    if (res.destroyed || res.writableEnded) return;
    if (this.isServed) {
      exchange.stream?.write(': waiting for the response\n\n');
      return;
    }
    exchange.stream ??= new EventStream(res, exchange.headers);
    exchange.stream.write(`: ${this.#describe()}\n\n`);
  }

  #describe(): string {
    const waited = Math.round((this.#clock.now() - this.#startedAt) / 1_000);
    const left = this.#options.leftSeconds();
    if (left === undefined) return `waiting for a replica (${waited} s)`;
    return left > 0
      ? `waiting for a replica (${waited} s of about ${waited + left} s)`
      : `waiting for a replica (${waited} s, longer than expected)`;
  }
}
