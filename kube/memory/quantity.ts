/** Quantities such as `512Mi` or `500m`, with the precision of the API server: exact to a billionth, and rounded up. */

const FORMAT = /^([+-]?)(\d+\.?\d*|\.\d+)(?:[eE]([+-]?\d{1,3})|([numkMGTPE]|[KMGTPE]i))?$/;
const POWERS: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
const BINARY = 'KMGTPE';
const BILLION = 1_000_000_000n;
const [MIN_INTEGER, MAX_INTEGER] = [-(2n ** 63n), 2n ** 63n - 1n];

export class Quantity {
  readonly #billionths: bigint;

  private constructor(billionths: bigint) {
    this.#billionths = billionths;
  }

  /** Undefined for another format. */
  static parse(text: string): Quantity | undefined {
    const match = FORMAT.exec(text);
    if (!match) return undefined;
    const [, sign, digits = '', exponent = '0', suffix = ''] = match;
    const [whole = '', fraction = ''] = digits.split('.');
    const isBinary = suffix.endsWith('i');
    const factor = isBinary ? 1024n ** BigInt(BINARY.indexOf(suffix[0]!) + 1) : 1n;
    const power = 9 - fraction.length + Number(exponent) + (isBinary ? 0 : (POWERS[suffix] ?? 0));
    const scaled = BigInt(whole + fraction) * factor * 10n ** BigInt(Math.max(power, 0));
    const divisor = 10n ** BigInt(Math.max(-power, 0));
    const billionths = (scaled + divisor - 1n) / divisor;
    return new Quantity(sign === '-' ? -billionths : billionths);
  }

  compareTo(other: Quantity): bigint {
    return this.minus(other).sign();
  }

  sign(): bigint {
    return this.#billionths === 0n ? 0n : this.#billionths > 0n ? 1n : -1n;
  }

  plus(other: Quantity): Quantity {
    return new Quantity(this.#billionths + other.#billionths);
  }

  minus(other: Quantity): Quantity {
    return new Quantity(this.#billionths - other.#billionths);
  }

  /** Undefined for a fraction, or an integer of more than 64 bits. */
  toInteger(): bigint | undefined {
    const integer = this.#billionths / BILLION;
    const isExact = integer * BILLION === this.#billionths;
    return isExact && integer >= MIN_INTEGER && integer <= MAX_INTEGER ? integer : undefined;
  }

  toNumber(): number {
    return Number(this.#billionths) / Number(BILLION);
  }
}
