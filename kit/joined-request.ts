/** A request whose body arrives in pieces of some length: kept by itself, a piece of one byte takes hundreds of bytes of memory. */
import { IncomingMessage } from 'node:http';
import { GrowingBuffer } from './growing-buffer.ts';
import { awaitPieceTurn, MAX_PIECES_PER_TURN } from './piece-turns.ts';

/** Shorter ones that arrive at once, or before they are read, wait until they have this length together, or the body ends. */
const MIN_PIECE_BYTES = 4 * 1024;

type JoinedSocket = IncomingMessage['socket'] & { onTinyPieces?: () => void };

export class JoinedRequest extends IncomingMessage {
  /** Most bodies have no other short piece. */
  #first: Buffer | null = null;
  /** With the first piece, where there are several. */
  readonly #held = new GrowingBuffer();
  /** Short ones since its latest turn. */
  #pieces = 0;
  #isWaiting = false;
  /** Its reader asked for more while it waited. */
  #isWanted = false;
  #isPassedSoon = false;

  /** Called by Node's parser, which stops reading the socket at false; `null` ends the body. */
  override push(piece: Buffer | null): boolean {
    if (piece === null) {
      this.#pass();
      return super.push(null);
    }
    if (piece.length >= MIN_PIECE_BYTES && !this.#first) return super.push(piece);
    if (this.#first) this.#join(this.#first, piece);
    else this.#first = piece;
    const canTakeMore = this.#held.length < MIN_PIECE_BYTES || this.#pass();
    if (this.readableLength === 0) this.#passSoon();
    if (++this.#pieces !== MAX_PIECES_PER_TURN) return canTakeMore;
    (this.socket as JoinedSocket).onTinyPieces?.();
    this.#awaitTurn();
    return false;
  }

  /** Resumes reading the socket. */
  override _read(size: number): void {
    this.#passSoon();
    if (this.#isWaiting) this.#isWanted = true;
    else super._read(size);
  }

  /** Node calls it once the request is answered: it would drop the rest without counting it, and without turns. */
  _dump(): void {
    this.resume();
  }

  /**
   * Leaves the connection open for the answer, where a body that cannot be sent on is destroyed: undici sees to that itself, but only for
   * Node's own class.
   */
  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    if (!this.readableEnded || !this.complete) {
      this.aborted = true;
      this.emit('aborted');
    }
    callback(this.listenerCount('error') === 0 ? null : error);
  }

  #join(first: Buffer, piece: Buffer): void {
    if (this.#held.length === 0) this.#held.add(first);
    this.#held.add(piece);
  }

  /** To a reader that has taken all before: its answer may be what the client waits for. */
  #passSoon(): void {
    if (!this.#first || this.#isPassedSoon) return;
    this.#isPassedSoon = true;
    setImmediate(() => {
      this.#isPassedSoon = false;
      if (this.readableLength === 0 && !this.destroyed) this.#pass();
    });
  }

  #pass(): boolean {
    const joined = this.#held.length > 0 ? this.#held.read() : this.#first;
    this.#first = null;
    this.#held.clear();
    return joined === null || super.push(joined);
  }

  #awaitTurn(): void {
    this.#isWaiting = true;
    awaitPieceTurn(() => {
      this.#isWaiting = false;
      this.#pieces = 0;
      if (this.#isWanted) super._read(MIN_PIECE_BYTES);
      else if (!this.complete && this.readableLength < this.readableHighWaterMark) this.socket.resume();
      this.#isWanted = false;
    });
  }
}
