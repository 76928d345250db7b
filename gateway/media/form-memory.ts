/** Accounts for a form's memory while it is read: its texts and the current chunk (decision 0190). Files go to the spool, which has its own limit. */
import type { Share } from '../../kit/shares.ts';

/** On the heap, whatever its transmitted length. */
const BYTES_PER_CHARACTER = 2;
/** The parser keeps an unfinished text as a list of pieces. */
const BYTES_PER_PIECE = 64;

/** A file of the body, with the bytes that the parser has passed on. */
interface FileStream {
  bytesRead: number;
}

export class FormMemory {
  readonly #lease: Share;
  readonly #maxOpenBytes: number;
  /** Bytes of the body that the parser has received. */
  #size = 0;
  #endedFileBytes = 0;
  #file: FileStream | null = null;
  /** Heap size of kept texts. */
  #kept = 0;
  /** Bytes received outside files when the latest text ended. */
  #ended = 0;
  #pieces = 0;

  /** `maxOpenBytes`: the parser's limit for one non-file part. */
  constructor(lease: Share, maxOpenBytes: number) {
    this.#lease = lease;
    this.#maxOpenBytes = maxOpenBytes;
  }

  /** Bytes of the body that the parser has received. */
  get size(): number {
    return this.#size;
  }

  /** Whether there is memory for the next chunk, at once or after a wait. */
  reserve(chunkBytes: number): boolean | Promise<boolean> {
    const arriving = BYTES_PER_CHARACTER * (this.#open + chunkBytes) + BYTES_PER_PIECE * this.#pieces;
    return this.#lease.grow(this.#kept + arriving);
  }

  /** The parser receives a chunk. */
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

  /** Bytes outside files. */
  get #outside(): number {
    return this.#size - this.#endedFileBytes - (this.#file?.bytesRead ?? 0);
  }

  /** Held bytes of the current part. */
  get #open(): number {
    return Math.max(0, Math.min(this.#outside - this.#ended, this.#maxOpenBytes));
  }
}
