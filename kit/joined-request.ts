/** A request whose body arrives in pieces of some length: kept by itself, a piece of one byte takes hundreds of bytes of memory. */
import { IncomingMessage } from 'node:http';
import { GrowingBuffer } from './growing-buffer.ts';
import { awaitPieceTurn, MAX_PIECES_PER_TURN } from './piece-turns.ts';

/** Shorter ones wait until they have this length together, or the body ends. */
const MIN_PIECE_BYTES = 4 * 1024;

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
    if (++this.#pieces !== MAX_PIECES_PER_TURN) return canTakeMore;
    this.#awaitTurn();
    return false;
  }

  /** Resumes reading the socket. */
  override _read(size: number): void {
    if (this.#isWaiting) this.#isWanted = true;
    else super._read(size);
  }

  #join(first: Buffer, piece: Buffer): void {
    if (this.#held.length === 0) this.#held.add(first);
    this.#held.add(piece);
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
