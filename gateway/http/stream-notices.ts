/**
 * Keeps a stream's connection open while its first event takes long: load balancers close silent ones. Comments, which clients ignore;
 * for messages pings, which Anthropic's API sends, too.
 */
import { type Clock, systemClock } from '../../kit/clock.ts';
import type { Exchange } from './exchange.ts';

/** Bounds what a deployment's setting costs a front. */
const MIN_INTERVAL_MS = 1_000;
const PING = 'event: ping\ndata: {"type":"ping"}\n\n';

export interface StreamNoticesOptions {
  exchange: Exchange;
  /** `limits.streamKeepAlive`; 0 turns notices off. The head is sent with the first. */
  intervalMs: number;
  /** What the stream waits for. */
  describe: () => string;
  clock?: Clock;
}

export class StreamNotices {
  readonly #options: StreamNoticesOptions;
  readonly #clock: Clock;
  #cancel: () => void = () => {};

  constructor(options: StreamNoticesOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    if (options.intervalMs > 0) this.#schedule();
  }

  stop(): void {
    this.#cancel();
  }

  #schedule(): void {
    this.#cancel = this.#clock.after(Math.max(this.#options.intervalMs, MIN_INTERVAL_MS), () => {
      if (this.#write()) this.#schedule();
    });
  }

  /** False: nothing follows. */
  #write(): boolean {
    const { exchange, describe } = this.#options;
    const { res, dialect, firstByteAt } = exchange;
    if (firstByteAt > 0 || res.destroyed || res.writableEnded) return false;
    exchange.startStream().write(dialect === 'anthropic' ? PING : `: ${describe()}\n\n`);
    return true;
  }
}
