/** Bytes in one buffer that doubles when it is full: pieces kept by themselves would take many times their memory. */

const MIN_CAPACITY = 1_024;
const EMPTY = Buffer.alloc(0);

export class GrowingBuffer {
  #buffer: Buffer;
  #length = 0;

  /** `capacity`: up to as many bytes are never copied. */
  constructor(capacity = 0) {
    // The system gives memory once it is written to.
    this.#buffer = capacity > 0 ? Buffer.allocUnsafeSlow(capacity) : EMPTY;
  }

  /** In bytes. */
  get length(): number {
    return this.#length;
  }

  get capacity(): number {
    return this.#buffer.length;
  }

  /** Copies it. */
  add(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#buffer.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** False, with nothing added, if the text is not in the encoding. */
  addText(text: string, encoding: BufferEncoding): boolean {
    const bytes = Buffer.byteLength(text, encoding);
    this.#reserve(bytes);
    if (this.#buffer.write(text, this.#length, bytes, encoding) !== bytes) return false;
    this.#length += bytes;
    return true;
  }

  /** Frees it; what was read stays as it is. */
  clear(): void {
    this.#buffer = EMPTY;
    this.#length = 0;
  }

  /** Valid until bytes are added. Without room that was not needed. */
  read(): Buffer {
    const bytes = this.#buffer.subarray(0, this.#length);
    return 2 * bytes.length < this.#buffer.length ? Buffer.from(bytes) : bytes;
  }

  toString(encoding: BufferEncoding = 'utf8'): string {
    return this.#buffer.toString(encoding, 0, this.#length);
  }

  /** Room for so many more. */
  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#buffer.length, MIN_CAPACITY));
    larger.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = larger;
  }
}
