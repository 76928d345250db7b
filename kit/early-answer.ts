/**
 * Answers that are sent before the request's body has arrived. The rest is read and dropped: the next request on the connection is
 * served, and a client that writes all before it reads gets its answer (RFC 9112, 9.3 and 9.6).
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { CountedResponse } from './counted-response.ts';

/** More than this, or for longer, is not read: the connection is closed. */
const MAX_REST_BYTES = 64 * 1024 * 1024;
const MAX_REST_MS = 30_000;

/** For a client that is too slow, or sends more than is taken. */
const CLOSING_STATUSES: ReadonlySet<number> = new Set([408, 413]);

export class EarlyResponse<
  Request extends IncomingMessage = IncomingMessage,
> extends CountedResponse<Request> {
  #isContinued = false;

  /** Not to HTTP/1.0, which has no interim responses (RFC 9110, 15.2). */
  override writeContinue(callback?: () => void): void {
    if (this.req.httpVersion === '1.0') return;
    this.#isContinued = true;
    super.writeContinue(callback);
  }

  override writeHead(status: number, ...rest: never[]): this {
    if (!this.req.complete && this.#isLast(status)) this.shouldKeepAlive = false;
    return super.writeHead(status, ...(rest as [never]));
  }

  override end(...data: never[]): this {
    if (!this.req.complete && !this.req.destroyed && !this.writableEnded) this.#dropBody();
    return super.end(...(data as [never]));
  }

  #isLast(status: number): boolean {
    const { expect, 'content-length': length } = this.req.headers;
    // Nobody reads the rest of a request that was destroyed.
    if (this.req.destroyed) return true;
    // Without 100 Continue, the body may be left out: the next request would be taken for it.
    const isWaiting = !this.#isContinued && expect !== undefined && /100-continue/i.test(expect);
    return isWaiting || CLOSING_STATUSES.has(status) || Number(length ?? 0) > MAX_REST_BYTES;
  }

  #dropBody(): void {
    const { req } = this;
    // A reader that waits for more would keep the body from flowing.
    req.removeAllListeners('readable');
    drop(req, req.socket);
    this.once('finish', () => {
      if (!req.complete) req.once('end', closeInTime(req.socket));
    });
  }
}

/**
 * Ends this side of a connection, and reads until the client has ended its own. It replaces `destroySoon`, which resets the
 * connection when more arrives: the client could lose the answer.
 */
export function closeAfterRest(socket: Socket): void {
  socket.end();
  socket.removeAllListeners('data');
  drop(socket, socket);
  closeInTime(socket);
}

/** Drops what arrives, within the limit. */
export function drop(source: Readable, socket: Socket): void {
  let left = MAX_REST_BYTES;
  source.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) socket.destroy();
  });
  source.resume();
}

/** Returns the function that keeps it open. */
function closeInTime(socket: Socket): () => void {
  const timer = setTimeout(() => socket.destroy(), MAX_REST_MS);
  const stop = () => {
    clearTimeout(timer);
    socket.off('close', stop);
  };
  socket.on('close', stop);
  return stop;
}
