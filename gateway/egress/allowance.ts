/** Bytes that an answer may have; several answers may draw on one allowance as well. */
export class Allowance {
  readonly #shared: Allowance | null;
  #left: number;

  constructor(bytes: number, shared: Allowance | null = null) {
    this.#left = bytes;
    this.#shared = shared;
  }

  get left(): number {
    return Math.min(this.#left, this.#shared?.left ?? Number.POSITIVE_INFINITY);
  }

  /** Takes nothing and answers false when there is too little left. */
  take(bytes: number): boolean {
    if (bytes > this.left) return false;
    this.#left -= bytes;
    this.#shared?.take(bytes);
    return true;
  }
}
