/** Activity of the serving port: the requests in flight and when the last one arrived. */
import type { ServerResponse } from 'node:http';
import { type Member, Roster } from '../../kit/roster.ts';

interface OpenResponse extends Member {
  readonly res: ServerResponse;
}

export class Activity {
  #inflight = 0;
  #lastRequestAt = Number.NEGATIVE_INFINITY;
  readonly #open = new Roster<OpenResponse>();
  #isClosing = false;

  get inflight(): number {
    return this.#inflight;
  }

  /** By performance.now(). */
  get lastRequestAt(): number {
    return this.#lastRequestAt;
  }

  /** Responses in progress. */
  get open(): Iterable<ServerResponse> {
    return Array.from(this.#open, ({ res }) => res);
  }

  /** Counts a request until its response ends or its client disconnects. */
  track(res: ServerResponse): void {
    this.#inflight++;
    this.#lastRequestAt = performance.now();
    if (this.#isClosing) res.shouldKeepAlive = false;
    const open = { res, place: -1 };
    this.#open.add(open);
    res.on('close', () => {
      this.#inflight--;
      this.#open.delete(open);
    });
  }

  /** Whether responses close their connections, including those not started, so that clients reconnect elsewhere. */
  setClosing(isClosing: boolean): void {
    this.#isClosing = isClosing;
    if (isClosing) for (const { res } of this.#open) if (!res.headersSent) res.shouldKeepAlive = false;
  }
}
