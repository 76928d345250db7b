/** Bytes in one buffer that doubles when it is full: pieces kept by themselves would take many times their memory. */
export class GrowingBuffer {
  protected buffer: Buffer;
  readonly #minCapacity: number;
  /** In bytes. */
  length = 0;

  /** `minCapacity`: of what it grows to. */
  constructor(capacity: number, minCapacity = 0) {
    // The system gives memory once it is written to.
    this.buffer = Buffer.allocUnsafeSlow(capacity);
    this.#minCapacity = minCapacity;
  }

  get capacity(): number {
    return this.buffer.length;
  }

  clear(): void {
    this.buffer = Buffer.alloc(0);
    this.length = 0;
  }

  /** Room for so many more. */
  protected reserve(bytes: number): void {
    const needed = this.length + bytes;
    if (needed <= this.buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.buffer.length, this.#minCapacity));
    this.buffer.copy(larger, 0, 0, this.length);
    this.buffer = larger;
  }
}
