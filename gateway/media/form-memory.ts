/** What a form takes of the memory for bodies while it is read: its texts, and the chunk at hand. Files go to the spool, which has a bound of its own. */
import type { BodyLease } from '../http/body-memory.ts';

/** On the heap, whatever its length on the wire. */
const BYTES_PER_CHARACTER = 2;
/** The parser keeps what arrives of a text as a list of pieces until its end. */
const BYTES_PER_PIECE = 64;

/** A file of the body, with what the parser has handed out of it. */
interface FileStream {
  bytesRead: number;
}

export class FormMemory {
  readonly #lease: BodyLease;
  readonly #maxOpenBytes: number;
  /** Of the body, as far as the parser has it. */
  #size = 0;
  #endedFileBytes = 0;
  #file: FileStream | null = null;
  /** Of texts that are kept, on the heap. */
  #kept = 0;
  /** What had arrived outside files when the latest text ended. */
  #ended = 0;
  #pieces = 0;

  /** `maxOpenBytes`: the parser holds no more of one part that is no file. */
  constructor(lease: BodyLease, maxOpenBytes: number) {
    this.#lease = lease;
    this.#maxOpenBytes = maxOpenBytes;
  }

  /** Of the body, as far as the parser has it. */
  get size(): number {
    return this.#size;
  }

  /** Whether there is room for the next chunk, at once or after a wait. */
  reserve(chunkBytes: number): boolean | Promise<boolean> {
    const arriving = BYTES_PER_CHARACTER * (this.#open + chunkBytes) + BYTES_PER_PIECE * this.#pieces;
    return this.#lease.grow(this.#kept + arriving);
  }

  /** The parser takes a chunk. */
  count(chunkBytes: number, parse: () => void): void {
    const [before, open] = [this.#outside, this.#open];
    parse();
    this.#size += chunkBytes;
    if (this.#outside > before && open < this.#maxOpenBytes) this.#pieces++;
  }

  beginFile(file: FileStream): void {
    this.#endedFileBytes += this.#file?.bytesRead ?? 0;
    this.#file = file;
  }

  /** Dropped unless it is kept. */
  endText(): void {
    this.#ended = this.#outside;
    this.#pieces = 0;
  }

  keep(text: string): void {
    this.#kept += BYTES_PER_CHARACTER * text.length;
  }

  /** Bytes that are not of files. */
  get #outside(): number {
    return this.#size - this.#endedFileBytes - (this.#file?.bytesRead ?? 0);
  }

  /** Bytes of the part at hand, as far as it is held. */
  get #open(): number {
    return Math.max(0, Math.min(this.#outside - this.#ended, this.#maxOpenBytes));
  }
}
