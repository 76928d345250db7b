/** Verifies the bytes of a file while they are written. */
import { createHash, type Hash } from 'node:crypto';
import type { Checksum, WeightsFile } from './source.ts';

export interface Check {
  update(bytes: Uint8Array): void;
  /** Once all bytes were given. */
  isRight(): boolean;
}

export function startCheck({ checksum, size }: Pick<WeightsFile, 'checksum' | 'size'>): Check {
  if (checksum === null) return { update: () => {}, isRight: () => true };
  if (checksum.kind === 'md5-of-parts') return new PartsCheck(checksum);
  const hash = openHash(checksum, size);
  return { update: (bytes) => void hash.update(bytes), isRight: () => hash.digest('hex') === checksum.hex };
}

function openHash({ kind }: Checksum, size: number): Hash {
  if (kind === 'sha256') return createHash('sha256');
  if (kind === 'md5') return createHash('md5');
  return createHash('sha1').update(`blob ${size}\0`);
}

class PartsCheck implements Check {
  readonly #checksum: Extract<Checksum, { kind: 'md5-of-parts' }>;
  readonly #whole = createHash('md5');
  #part = createHash('md5');
  #inPart = 0;

  constructor(checksum: Extract<Checksum, { kind: 'md5-of-parts' }>) {
    this.#checksum = checksum;
  }

  update(bytes: Uint8Array): void {
    let rest = bytes;
    while (rest.length > 0) {
      const taken = rest.subarray(0, this.#checksum.partBytes - this.#inPart);
      this.#part.update(taken);
      this.#inPart += taken.length;
      rest = rest.subarray(taken.length);
      if (this.#inPart === this.#checksum.partBytes) this.#endPart();
    }
  }

  isRight(): boolean {
    if (this.#inPart > 0) this.#endPart();
    return this.#whole.digest('hex') === this.#checksum.hex;
  }

  #endPart(): void {
    this.#whole.update(this.#part.digest());
    this.#part = createHash('md5');
    this.#inPart = 0;
  }
}
