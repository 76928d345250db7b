/** What the serving port is doing: the requests in flight and when the last one came. */
import type { ServerResponse } from 'node:http';

export class Activity {
  #inflight = 0;
  #lastRequestAt = Number.NEGATIVE_INFINITY;
  readonly #open = new Set<ServerResponse>();
  #isClosing = false;

  get inflight(): number {
    return this.#inflight;
  }

  /** By performance.now(). */
  get lastRequestAt(): number {
    return this.#lastRequestAt;
  }

  /** The answers that have not ended. */
  get open(): Iterable<ServerResponse> {
    return [...this.#open];
  }

  /** Counts a request until its answer has ended or its client has left. */
  track(res: ServerResponse): void {
    this.#inflight++;
    this.#lastRequestAt = performance.now();
    if (this.#isClosing) res.shouldKeepAlive = false;
    this.#open.add(res);
    res.on('close', () => {
      this.#inflight--;
      this.#open.delete(res);
    });
  }

  /** Whether answers close their connections, those not yet begun included, so that clients go elsewhere. */
  setClosing(isClosing: boolean): void {
    this.#isClosing = isClosing;
    if (isClosing) for (const res of this.#open) if (!res.headersSent) res.shouldKeepAlive = false;
  }
}
