/** An uploaded audio file, read in pieces at any offset, without a disk call for each. */
import type { FileHandle } from 'node:fs/promises';

/** 64 kbit/s: compressed speech. */
const TYPICAL_BYTES_PER_SECOND = 8_000;
export const MIN_BYTES_PER_SECOND = 500;

/** For bytes that may be audio. */
export const guessSeconds = (bytes: number): number => bytes / TYPICAL_BYTES_PER_SECOND;

/** For unread bytes, in a file that is not meant to be played. */
export const mostSeconds = (bytes: number): number => bytes / MIN_BYTES_PER_SECOND;

const PIECE_BYTES = 256 * 1024;

export class AudioFile {
  readonly bytes: number;
  readonly #file: FileHandle;
  readonly #buffer = Buffer.alloc(PIECE_BYTES);
  #start = 0;
  #end = 0;

  constructor(file: FileHandle, bytes: number) {
    this.#file = file;
    this.bytes = bytes;
  }

  /** `length` bytes, or fewer at the file's end, if they are in memory; valid until the next `read`. */
  peek(at: number, length: number): Buffer | null {
    const end = Math.min(at + length, this.bytes);
    if (at < this.#start || end > this.#end) return null;
    return this.#buffer.subarray(at - this.#start, Math.max(at, end) - this.#start);
  }

  /** The same from the disk, at most 256 KiB. */
  async read(at: number, length: number): Promise<Buffer> {
    const { bytesRead } = await this.#file.read(this.#buffer, 0, PIECE_BYTES, at);
    this.#start = at;
    this.#end = at + bytesRead;
    return this.#buffer.subarray(0, Math.min(length, bytesRead));
  }
}
