/** Bytes that an answer may have; several answers may draw on one allowance as well. */
export class Allowance {
  readonly #shared: Allowance | null;
  readonly #reserve: (bytes: number) => boolean;
  #left: number;

  /** `reserve` is asked for memory for what is taken, and may refuse it. */
  constructor(
    bytes: number,
    shared: Allowance | null = null,
    reserve: (bytes: number) => boolean = () => true,
  ) {
    this.#left = bytes;
    this.#shared = shared;
    this.#reserve = reserve;
  }

  get left(): number {
    return Math.min(this.#left, this.#shared?.left ?? Number.POSITIVE_INFINITY);
  }

  /** Takes nothing and answers false when there is too little left. */
  take(bytes: number): boolean {
    if (bytes > this.left || !this.#reserve(bytes)) return false;
    if (this.#shared && !this.#shared.take(bytes)) return false;
    this.#left -= bytes;
    return true;
  }
}
