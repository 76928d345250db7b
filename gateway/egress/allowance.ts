/** Bytes that a response may have; several responses may share one allowance. */
export class Allowance {
  readonly #shared: Allowance | null;
  readonly #reserve: (bytes: number) => boolean;
  #left: number;

  /** `reserve` reserves memory for what is taken, and may refuse. */
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

  /** Takes nothing and returns false if there is too little left. */
  take(bytes: number): boolean {
    if (bytes > this.left || !this.#reserve(bytes)) return false;
    if (this.#shared && !this.#shared.take(bytes)) return false;
    this.#left -= bytes;
    return true;
  }
}
