/** Bodies of requests for undici and for Http1Client. */
import type { Readable } from 'node:stream';

/** A body that can be sent again: its parts are read anew each time. */
export class KeptBody {
  readonly #open: () => AsyncIterator<Buffer>;

  constructor(open: () => AsyncIterator<Buffer>) {
    this.#open = open;
  }

  [Symbol.asyncIterator](): AsyncIterator<Buffer> {
    return this.#open();
  }
}

/** Undici's types know no iterables. */
export const toDispatchBody = (body: Buffer | AsyncIterable<Buffer>): Buffer | Readable =>
  body as Buffer | Readable;

export const canSendAgain = (body: unknown): boolean =>
  body === undefined || body === null || Buffer.isBuffer(body) || body instanceof KeptBody;
