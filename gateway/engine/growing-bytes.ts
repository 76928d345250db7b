/** Bytes that come as base64, piece by piece. */
import { GrowingBuffer } from './growing-buffer.ts';

const MIN_CAPACITY = 64 * 1024;

export class GrowingBytes extends GrowingBuffer {
  /** `capacity`: up to as many bytes are never copied. */
  constructor(capacity: number) {
    super(Math.max(capacity, MIN_CAPACITY));
  }

  /** Whole groups of four characters; false, with nothing added, where one of them is no base64. */
  addGroups(text: string): boolean {
    const bytes = (text.length / 4) * 3;
    this.reserve(bytes);
    if (this.buffer.write(text, this.length, bytes, 'base64') !== bytes) return false;
    this.length += bytes;
    return true;
  }

  /** What is left of the last group. */
  addEnd(text: string): void {
    const bytes = Buffer.from(text, 'base64');
    this.reserve(bytes.length);
    this.length += bytes.copy(this.buffer, this.length);
  }

  /** Without room that was not needed. */
  read(): Buffer {
    const bytes = this.buffer.subarray(0, this.length);
    return 2 * bytes.length < this.buffer.length ? Buffer.from(bytes) : bytes;
  }
}
